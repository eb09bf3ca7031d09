"""How the service runs: its objects, its processes, its roles."""
