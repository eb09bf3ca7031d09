"""Which errors of MongoDB are limits of time: it answers, but not soon enough.

A search that examines too much is one. A server that nobody can reach is not: the driver then finds
no server to ask.
"""

from pymongo.errors import PyMongoError, ServerSelectionTimeoutError


def is_time_limit(error: BaseException | None) -> bool:
    """Return whether an operation took longer than it may."""
    return (
        isinstance(error, PyMongoError)
        and error.timeout
        and not isinstance(error, ServerSelectionTimeoutError)
    )
