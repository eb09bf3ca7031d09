"""The proof that what was answered is stored and counted exactly once, whatever is killed.

Starts the service and its stores as processes, sends clicks and events and writes down every
answer, and meanwhile kills and stops each process, again and again. In the end it compares the
answers with what is stored, and what is stored with what is counted.
"""
