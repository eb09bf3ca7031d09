"""HTTP as such: knows nothing of links."""
