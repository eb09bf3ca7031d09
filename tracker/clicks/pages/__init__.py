"""Clicks that pages report with `POST /api/click`: they are recorded, and redirect nobody."""
