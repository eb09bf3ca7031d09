"""Conversions: event configurations, recorded events, and their attribution to clicks."""
