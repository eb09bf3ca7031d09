"""The proof that every answered request is stored and counted exactly once, whatever is killed.

It starts the service and its stores as processes. It sends clicks and events and records every
answer, while it kills and stops each process again and again. At the end it compares the answers
with the stored documents, and those with rollups, reports and deliveries.
"""
