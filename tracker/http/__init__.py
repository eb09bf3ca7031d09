"""HTTP/1.1 as such, for any Tornado application: knows nothing of links."""
