"""Streams of new clicks and conversions, as soon as they are stored."""
