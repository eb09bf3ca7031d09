"""The journal: makes a click or conversion durable before it is answered, and reads it again."""
