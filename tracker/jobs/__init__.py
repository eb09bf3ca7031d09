"""Jobs on files that people and programs send: their documents, leases and workers."""
