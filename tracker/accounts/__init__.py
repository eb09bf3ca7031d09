"""Accounts and their people: members, second factors, signing in, time zones."""
