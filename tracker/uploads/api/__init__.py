"""The endpoints of uploads."""
