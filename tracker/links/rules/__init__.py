"""Rules and splits of links: where a visitor is sent, and why."""
