"""Deliveries about clicks and links, with a bound on what waits for each webhook."""
