"""Sending deliveries: the client, its attempts, and the sender that claims what is due."""
