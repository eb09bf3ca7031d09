"""Endpoints of reports and overviews."""
