"""Endpoints of links, tags and domains."""
