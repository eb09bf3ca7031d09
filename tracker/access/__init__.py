"""Who may do what: accounts, API keys, and where a request comes from."""
