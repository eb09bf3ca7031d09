"""Answers to reports: reading of counts, permits, names, and the order of rows."""
