"""The guard of a run: its processes reach nothing beyond loopback."""
