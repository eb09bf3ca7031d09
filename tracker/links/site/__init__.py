"""What visitors of custom domains asked for in vain."""
