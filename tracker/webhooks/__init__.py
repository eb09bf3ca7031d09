"""Webhooks: who is told of conversions, and in which words."""
