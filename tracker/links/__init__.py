"""Short links: what they are, where they lead, and how they are found."""
