"""Alerts and summaries: figures of reports that webhooks are told of without being asked."""
