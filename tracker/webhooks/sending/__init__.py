"""Sending of deliveries: the sender that claims them, their attempts, and the HTTP client."""
