"""Endpoints of accounts, their people and keys, and of signing in."""
