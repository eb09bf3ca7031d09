"""A click: from the visitor's request to a durable record."""
