"""The load of `scripts.bench` and `scripts.soak`: realistic requests, wrk, and a client of our own.

It goes to this machine only, is bounded in time and number, and stops by itself.
"""
