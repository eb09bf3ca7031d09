"""Parsers of URLs, queries, JSON and Accept headers. Pure."""
