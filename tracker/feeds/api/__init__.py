"""Endpoints that list clicks and conversions, and what was refused."""
