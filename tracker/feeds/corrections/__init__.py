"""Corrections of stored conversions by people and programs."""
