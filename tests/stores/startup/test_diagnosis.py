"""The errors of stores that tests cannot make real servers raise; `test_check*` have the others."""

import pytest
from pymongo.errors import OperationFailure, ServerSelectionTimeoutError
from redis.exceptions import ResponseError

from tracker.stores.startup.diagnosis import (
    StoreUnavailable,
    UnusableStore,
    hello_fault,
    mongodb_fault,
    redis_fault,
)

DUPLICATE = (
    "Index build failed: 1: E11000 duplicate key error collection: tracker.links index: "
    'by_domain_and_slug dup key: { domain_id: null, slug: "a" }'
)


@pytest.mark.parametrize(
    ("error", "kind", "told"),
    [
        (OperationFailure("bad auth : authentication failed", 8000), UnusableStore, "the password"),
        (OperationFailure(f"{DUPLICATE}, full error: {{}}", 11000), UnusableStore, DUPLICATE),
        (OperationFailure("no longer\nprimary", 10107), StoreUnavailable, "no longer primary"),
        (
            ServerSelectionTimeoutError(
                "a:1: refused, Timeout: 2.0s, Topology Description: <TopologyDescription servers: "
            ),
            StoreUnavailable,
            "a:1: refused, Timeout: 2.0s",
        ),
        (ServerSelectionTimeoutError(""), StoreUnavailable, "used: ServerSelectionTimeoutError"),
    ],
    ids=["Atlas", "duplicate", "election", "no server", "no text"],
)
def test_an_error_of_mongodb_is_told_in_one_line(
    error: Exception, kind: type[Exception], told: str
) -> None:
    fault = mongodb_fault(error)  # type: ignore[arg-type]
    assert type(fault) is kind
    assert told in str(fault)
    assert "\n" not in str(fault)
    assert "Topology" not in str(fault)


def test_an_error_of_redis_without_a_remedy_is_told_as_it_is() -> None:
    fault = redis_fault(ResponseError("MISCONF two\nlines"))
    assert type(fault) is StoreUnavailable
    assert str(fault) == "REDIS_URL: Redis cannot be used: MISCONF two lines"


@pytest.mark.parametrize("hello", [{"setName": "rs0"}, {"msg": "isdbgrid"}])
def test_a_member_and_a_router_can_be_used(hello: dict[str, object]) -> None:
    assert hello_fault(hello) is None
