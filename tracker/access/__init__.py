"""Who may do what: accounts, API keys, rate limits, and where a request comes from."""
