"""Tests of uploads of conversions."""
