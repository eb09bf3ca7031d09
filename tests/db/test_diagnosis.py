"""Each error of a store has one line, and ends the start or does not.

The tables have errors that a test cannot make real servers raise. `test_check*` have the others.
"""

import pytest
from pymongo.errors import AutoReconnect, OperationFailure, ServerSelectionTimeoutError
from redis.exceptions import (
    AuthenticationError,
    BusyLoadingError,
    MasterDownError,
    NoPermissionError,
    OutOfMemoryError,
    ReadOnlyError,
    ResponseError,
)
from redis.exceptions import ConnectionError as Lost
from redis.exceptions import TimeoutError as Late

from tracker.db.diagnosis import Fault, PortProtocol, Seed, hello_fault, mongodb_fault, redis_fault

VERIFY = "[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: "
MEMBER = {"setName": "rs0", "isWritablePrimary": False}
NO_PRIMARY = ServerSelectionTimeoutError('No replica set members match selector "Primary()"')


@pytest.mark.parametrize(
    ("error", "tls", "protocol", "ends", "told"),
    [
        (AuthenticationError("NOAUTH Authentication required."), False, "plain", True, "password"),
        (
            ResponseError("WRONGPASS invalid username-password pair"),
            False,
            "plain",
            True,
            "refuses",
        ),
        (AuthenticationError("invalid password"), False, "plain", True, "refuses"),
        (ResponseError("DB index is out of range"), False, "plain", True, "no database"),
        (NoPermissionError("this user has no permissions"), False, "plain", False, "+@all"),
        (
            ReadOnlyError("You can't write against a read only replica."),
            False,
            "plain",
            False,
            "name its primary",
        ),
        (MasterDownError("Link with MASTER is down"), False, "plain", False, "name its primary"),
        (
            OutOfMemoryError("command not allowed when used memory > 'maxmemory'."),
            False,
            "plain",
            False,
            "full",
        ),
        (Late("Timeout connecting to server"), True, "plain", True, "no TLS"),
        (Late("Timeout connecting to server"), True, "nothing", False, "no answer"),
        (Late("Timeout connecting to server"), True, "tls", False, "no answer"),
        (Lost("Connection closed by server."), False, "tls", True, "TLS only"),
        (Lost("Connection closed by server."), False, "nothing", False, "no answer"),
        (Lost("Connection closed by server."), True, "tls", False, "ssl_certfile"),
        (Lost("TLSV13_ALERT_CERTIFICATE_REQUIRED"), True, "tls", True, "ssl_keyfile"),
        (
            Lost(f"{VERIFY}self-signed certificate (_ssl.c:1006)."),
            True,
            "tls",
            True,
            "not trusted (self-signed certificate): name its authority with ?ssl_ca_certs=<file>",
        ),
        (
            Lost(f"{VERIFY}certificate has expired (_ssl.c:1006)."),
            True,
            "tls",
            False,
            "has expired: renew it there",
        ),
        (
            Lost(f"{VERIFY}certificate is not yet valid (_ssl.c:1)"),
            True,
            "tls",
            False,
            "is not yet valid",
        ),
        (
            Lost(f"{VERIFY}Hostname mismatch, certificate is not valid for 'a'."),
            True,
            "tls",
            True,
            "not for this host",
        ),
        (
            Lost("Error 111 connecting to a:1. Connection refused."),
            False,
            "nothing",
            False,
            "nothing listens at redis.test:6379",
        ),
        (
            Lost("Error -3 connecting. Temporary failure in name resolution."),
            False,
            "nothing",
            False,
            "no address is known for the host of redis.test:6379",
        ),
        (
            BusyLoadingError("Redis is loading the dataset in memory"),
            False,
            "plain",
            False,
            "Redis is loading the dataset",
        ),
        (ResponseError("MISCONF two\nlines"), False, "plain", False, "MISCONF two lines"),
    ],
    ids=str,
)
def test_each_error_of_redis_has_a_line_and_a_remedy(
    error: Exception, tls: bool, protocol: PortProtocol, ends: bool, told: str
) -> None:
    fault = redis_fault(error, "redis.test:6379", tls, protocol)
    assert fault.is_transient is not ends
    assert fault.line.startswith("REDIS_URL: ")
    assert told in fault.line
    assert "\n" not in fault.line


def test_the_cause_of_an_error_counts_too() -> None:
    error = Lost("Error connecting")
    error.__cause__ = OSError(f"{VERIFY}self-signed certificate (_ssl.c:1006)")
    assert "not trusted" in redis_fault(error, "redis.test:6379", True, "tls").line


@pytest.mark.parametrize(
    ("error", "ends", "told"),
    [
        (OperationFailure("Authentication failed.", 18), True, "refuses the user"),
        (OperationFailure("bad auth : authentication failed", 8000), True, "refuses the user"),
        (OperationFailure("command find requires authentication", 13), True, "asks for a user"),
        (OperationFailure("no longer primary", 10107), False, "no longer primary"),
        (OperationFailure("Index already exists with a different name: by_x", 85), True, "by_x"),
    ],
    ids=str,
)
def test_each_refusal_of_mongodb_has_a_line_and_a_remedy(
    error: Exception, ends: bool, told: str
) -> None:
    fault = mongodb_fault(error, "rs0", False, [])
    assert fault.is_transient is not ends
    assert told in fault.line


@pytest.mark.parametrize(
    ("seeds", "ends", "told"),
    [
        ([Seed("a:1", MEMBER)], False, "has no primary now"),
        ([Seed("a:1", {"setName": "other"})], True, "of the replica set other"),
        ([Seed("a:1", {"ok": 1})], True, "standalone mongod"),
        ([Seed("a:1", {"isreplicaset": True})], False, "never initiated"),
        ([Seed("a:1", None, "a:1: connection closed", "tls")], True, "a:1 speaks TLS only"),
        (
            [Seed("a:1", None, "a:1: Connection refused"), Seed("b:1", {"setName": "x"})],
            False,
            "nothing listens at a:1",
        ),
        ([Seed("a:1", None, "a:1: Connection refused"), Seed("b:1", MEMBER)], False, "no primary"),
        ([Seed("a:1", None, "closed", "tls"), Seed("b:1", MEMBER)], False, "no primary"),
    ],
    ids=str,
)
def test_a_fault_ends_the_start_only_if_no_server_leaves_hope(
    seeds: list[Seed], ends: bool, told: str
) -> None:
    fault = mongodb_fault(NO_PRIMARY, "rs0", False, seeds)
    assert fault.is_transient is not ends
    assert told in fault.line
    assert "\n" not in fault.line


def test_members_with_names_that_cannot_be_reached_from_here_are_named() -> None:
    error = AutoReconnect("3f1c9a:27017: [Errno -2] Name or service not known, Timeout: 2s")
    fault = mongodb_fault(error, "rs0", False, [Seed("a:1", MEMBER)])
    assert fault.is_transient
    assert "names a member 3f1c9a:27017" in fault.line


@pytest.mark.parametrize("hello", [MEMBER, {"msg": "isdbgrid"}])
def test_a_member_and_a_router_can_be_used(hello: dict[str, object]) -> None:
    assert hello_fault(hello, "") is None


def test_duplicates_are_named_with_their_whole_key() -> None:
    error = OperationFailure(
        "Index build failed: 1: E11000 duplicate key error collection: tracker.links index: "
        'by_slug dup key: { domain_name: "", slug: "a" }, full error: {...}',
        11000,
    )
    assert mongodb_fault(error, "", False, []) == Fault(
        'MongoDB has more than one document with { domain_name: "", slug: "a" }, which the unique '
        "index by_slug of tracker.links does not allow: delete all but one and start again",
        False,
    )
