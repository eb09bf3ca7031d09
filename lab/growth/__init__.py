"""How cost grows with what an account or an installation has: links, accounts, receivers.

    make growth ARGS='--rows lists,reports'

Each row has a figure at a small and at a large size, and bounds. The product itself writes all that
is measured. Small and large alternate, and medians are compared: a noisy machine disturbs both.
"""
