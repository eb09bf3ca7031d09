"""Webhooks: receivers of an account, their payload templates, and the deliveries to them."""
