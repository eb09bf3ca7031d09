"""`make chaos`: the proof that what was answered is stored and counted exactly once.

Starts the service and its stores as processes, sends clicks and events and writes down every
answer, and kills and stops each of the processes meanwhile, again and again. In the end it compares
what was answered with what is stored, and what is stored with what is counted.
"""
