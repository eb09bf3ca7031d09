"""Endpoints to report conversions, and to configure them."""
