"""Payloads of webhooks: templates, macros, and the values that fill them."""
