"""Clicks, conversions and what they are compared with, side by side on one machine.

    make bench ARGS='--rounds 5'

Every row has the machine to itself while it is measured, but for the stores and the load; rounds
alternate, so that a noisy machine disturbs all alike, and medians are compared.
"""
