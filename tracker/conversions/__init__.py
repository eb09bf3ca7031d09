"""Conversion events: what is configured, recorded, and joined to its click."""
