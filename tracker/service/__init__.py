"""How the service runs: what it is made of, its processes, its roles."""
