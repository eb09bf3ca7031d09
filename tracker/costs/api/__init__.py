"""Endpoints of views and shares, and of the reports that shares show."""
