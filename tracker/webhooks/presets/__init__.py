"""Presets of webhooks: services whose requests have a form of their own."""
