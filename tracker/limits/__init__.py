"""Limits on the share of one client or account. Pure, in memory."""
