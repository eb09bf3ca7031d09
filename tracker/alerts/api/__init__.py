"""Endpoints of alerts and summaries."""
