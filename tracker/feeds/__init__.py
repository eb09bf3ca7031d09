"""Lists of clicks and conversions: by time, or in the order of storing."""
