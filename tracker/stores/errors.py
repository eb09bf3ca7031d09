"""The errors of a store that cannot be used at start."""


class UnusableStore(Exception):
    """A store that cannot be used with these settings, however long we wait.

    The message is one line for the operator, with the remedy.
    """


class StoreUnavailable(Exception):
    """A store that cannot be used now, but may be later. The message is a line for the operator."""
