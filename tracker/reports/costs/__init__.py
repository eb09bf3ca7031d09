"""Costs of periods: what they are, and how they are spread over clicks. Pure but for one query."""
