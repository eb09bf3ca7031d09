"""What makes a click or conversion durable before it is answered."""
