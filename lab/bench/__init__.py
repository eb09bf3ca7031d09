"""The benchmark: clicks, conversions and what they are compared with, side by side on one machine.

    make bench ARGS='--rounds 5'

While a row is measured it shares the machine only with the stores and the load. Rounds alternate,
so that a noisy machine disturbs every row alike, and medians are compared.
"""
