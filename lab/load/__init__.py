"""The load of every measurement: realistic requests, a client, and wrk.

It goes to this machine only, is bounded in time and number, and stops by itself.
"""
