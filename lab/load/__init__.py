"""The load of `lab.bench` and `lab.soak`: realistic requests, wrk, and a client of our own.

It goes to this machine only, is bounded in time and number, and stops by itself.
"""
