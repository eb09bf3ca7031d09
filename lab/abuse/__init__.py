"""The abuse proof: attacks by strangers and by accounts, while visitors click beside them.

`world` makes what attacks and visitors use, `strangers` and `accounts` hold the attacks, `attacker`
runs one of them in a process of its own, `__main__` measures visitors before, during and after
each, and `result` has the bounds. Traffic goes to this machine only, is bounded in number and time,
and stops by itself.
"""
