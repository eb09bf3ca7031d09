"""The frame of endpoints, and what tests of endpoints share."""
