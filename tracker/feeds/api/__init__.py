"""Endpoints that list clicks, conversions and refused postbacks."""
