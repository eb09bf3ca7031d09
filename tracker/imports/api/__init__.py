"""The endpoints of imports."""
