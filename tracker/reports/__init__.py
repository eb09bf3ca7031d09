"""Reports of clicks and conversions: counted once, in rollups, and read from there."""
