"""The abuse proof: attacks by strangers and by accounts, while visitors click.

`attack` holds what every attack is given, `attacker` their table and their processes. `__main__`
measures visitors before, during and after each attack, and `result` has the bounds. Traffic goes to
this machine only, is bounded in number and time, and stops by itself.
"""
