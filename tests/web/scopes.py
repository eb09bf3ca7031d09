"""The scopes that a key may have on a resource, and what it may do with each."""

import pytest


def each_scope_of(resource: str) -> pytest.MarkDecorator:
    """Parametrize a test with `scopes`, and the status of a request that reads or writes."""
    rows = [
        ([f"{resource}:read"], 200, 403),
        ([f"{resource}:write"], 403, 200),
        ([f"{resource}:*"], 200, 200),
        (["links:*", "tags:*"], 403, 403),
    ]
    return pytest.mark.parametrize(("scopes", "reads", "writes"), rows)
