"""Uploads: conversions from the files of networks and other trackers."""
