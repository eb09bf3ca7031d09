"""Statuses and corrections of conversions, and what follows from them. Pure."""
