"""The endpoints that visitors open, which redirect and record a click."""
