"""The web: Tornado handlers, one file a resource. Rules live elsewhere; here they are spoken."""
