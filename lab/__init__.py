"""Load, faults and measurements: what proves the service. Operators' commands are in scripts."""
