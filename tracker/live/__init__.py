"""Clicks and conversions as they land, for people who watch."""
