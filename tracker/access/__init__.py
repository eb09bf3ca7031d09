"""Access: accounts, API keys, rate limits, and the address of a client."""
