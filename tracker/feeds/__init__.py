"""Feeds of clicks and conversions: pages by time, and everything that was stored after a moment."""
