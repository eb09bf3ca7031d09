"""Access: who calls, what they may do and how often, and what they did."""
