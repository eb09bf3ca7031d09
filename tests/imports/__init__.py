"""Tests of imports from other services."""
