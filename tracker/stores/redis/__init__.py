"""Redis: clients for its topologies, the table of keys, the budget of memory, leases."""
