"""Accounts and their people: members, passwords, second factors, signing in, time zones."""
