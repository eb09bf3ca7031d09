"""The service as it runs: its objects, its processes and its roles."""
