"""Saved reports: views for the account itself, and shares for anyone with their link."""
