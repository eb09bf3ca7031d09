"""Limits on what one client or account may ask for: pure, in memory."""
