"""Readers of the formats that sources write: text, CSV, JSON, SQL dumps; and fields in them. Pure.

Each takes a file in pieces and needs no more memory for a longer one.
"""
