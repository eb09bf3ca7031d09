"""DNS: how the names of hosts are resolved, and which addresses are public."""
