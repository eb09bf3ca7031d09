"""Clicks and conversions for people who watch, as soon as they are stored."""
