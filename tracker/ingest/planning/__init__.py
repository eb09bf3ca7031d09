"""The parts of a plan: its writes, its rules, and events that it changes. Pure."""
