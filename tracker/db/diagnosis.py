"""The meaning of a store's error for the operator: one line with the variable and the remedy.

Pure; `db/probe` finds the facts that the error does not show, and calls this.

Rule: a transient fault, which waiting may end, is only a warning. Examples are a server or a name
that does not exist yet, an election, or a certificate that is renewed on the server. Any other
fault ends the start.

Guarantee: no line holds a password.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final, Literal, NamedTuple

PortProtocol = Literal["tls", "plain", "nothing"]
"""The answer of a port: a TLS handshake, the store's protocol without TLS, or neither."""

STANDALONE: Final = (
    "MONGODB_URI names a standalone mongod, which has no transactions: restart it with "
    "--replSet rs0 and run once: mongosh --eval 'rs.initiate()'"
)


class Fault(NamedTuple):
    """A line for the operator. `is_transient` is true if waiting may end the fault."""

    line: str
    is_transient: bool


class Seed(NamedTuple):
    """A server that MONGODB_URI names, and its own `hello`, or the error that came instead."""

    address: str
    hello: Mapping[str, Any] | None = None
    error: str = ""
    protocol: PortProtocol = "nothing"


class _Wording(NamedTuple):
    """The wording of one store's remedies."""

    variable: str
    name: str
    trust: str
    client_certificate: str
    with_tls: str
    without_tls: str


_REDIS: Final = _Wording(
    "REDIS_URL",
    "Redis",
    "name its authority with ?ssl_ca_certs=<file>, or accept any certificate, as Heroku's Redis "
    "needs, with ?ssl_cert_reqs=none",
    "?ssl_certfile=<file>&ssl_keyfile=<file>",
    "begin it with rediss:// instead of redis://",
    "begin it with redis:// instead of rediss://",
)
_MONGODB: Final = _Wording(
    "MONGODB_URI",
    "MongoDB",
    "name its authority with tlsCAFile=<file>, or accept any certificate with "
    "tlsAllowInvalidCertificates=true",
    "tlsCertificateKeyFile=<file>",
    "add tls=true",
    "leave out tls=true (mongodb+srv:// has it unless you say tls=false)",
)

# (pattern of the error, line, whether it is transient); {0} is the pattern's first group.
_REDIS_REFUSALS: Final = (
    (
        r"NOAUTH|Authentication required",
        "Redis asks for a password: put it in, as in redis://:<password>@host:6379/0",
        False,
    ),
    (
        r"without any password configured",
        "it has a password, but Redis has none: leave it out, or set requirepass in Redis",
        False,
    ),
    (
        r"WRONGPASS|invalid username-password pair|invalid password",
        "Redis refuses the user or the password: correct them; special characters are "
        "percent-encoded",
        False,
    ),
    (
        r"DB index is out of range|invalid DB index",
        "Redis has no database of this number: end it with a lower one, such as /0",
        False,
    ),
    (
        r"READONLY|read only replica|MASTERDOWN|Link with MASTER is down",
        "Redis is a replica, which takes no writes: name its primary, or wait until it is one",
        True,
    ),
    (
        r"OOM|OutOfMemoryError",
        "Redis is full: give it more memory (maxmemory)",
        True,
    ),
    (
        r"NOPERM|has no permissions",
        "the user may not run what the service needs: give it ~* &* +@all in Redis",
        True,
    ),
)
_MONGODB_REFUSALS: Final = {
    18: "MongoDB refuses the user or the password: correct them; special characters are "
    "percent-encoded, and authSource names the database that has the user",
    8000: "MongoDB refuses the user or the password: correct them; special characters are "
    "percent-encoded",
    13: "MongoDB asks for a user who may read and write the database: put user and password in, "
    "or give the user the role readWrite",
}
_NETWORK: Final = (
    (
        r"certificate verify failed: certificate (has expired|is not yet valid)",
        "the certificate of {address} {0}: renew it there, or set this machine's clock",
        True,
    ),
    (
        r"certificate verify failed: (?:Hostname|IP address) mismatch",
        "the certificate of {address} is not for this host: name the host as the certificate does",
        False,
    ),
    (
        r"certificate verify failed: ([^(\n]*[^(\s.])",
        "the certificate of {address} is not trusted ({0}): {words.trust}",
        False,
    ),
    (
        r"(?i)certificate.required|bad.certificate",
        "{address} asks for a certificate of ours: add {words.client_certificate}",
        False,
    ),
    (
        r"Name or service not known|Temporary failure in name resolution|No address associated"
        r"|nodename nor servname",
        "no address is known for the host of {address}: correct the name if it is wrong",
        True,
    ),
    (
        r"The DNS query name does not exist: _mongodb\._tcp\.(\S+?)\.?(?:,|\s|$)",
        "{0} has no SRV record, which mongodb+srv:// needs: correct the name, or begin with "
        "mongodb:// and name the servers",
        True,
    ),
    (r"Connection refused|Connect call failed", "nothing listens at {address}", True),
    (r"No such file or directory", "there is no socket at {address}", True),
    (
        r"(?i)timeout|timed out|closed|reset|EOF",
        "no answer from {address}",
        True,
    ),
)
_AFTER_HANDSHAKE: Final = (
    # With TLS 1.3 a server refuses a client without certificate only after the handshake.
    r"(?i)closed by server|connection closed|connection reset|connection lost",
    "{address} ends connections after the TLS handshake: if it asks for a certificate of ours, add "
    "{words.client_certificate}",
    True,
)
_MEMBERS: Final = re.compile(r"(\S+:\d+): \[Errno")
_DUPLICATE: Final = re.compile(r"collection: (\S+) index: (\S+) dup key: (\{.*?\})(?:, full|$)")
_DUPLICATE_KEY: Final = 11000
_OTHER_INDEX: Final = frozenset((85, 86))


def redis_fault(error: BaseException, address: str, tls: bool, protocol: PortProtocol) -> Fault:
    """Return the fault of the Redis at `address`, which failed with `error`.

    `tls` says whether REDIS_URL asks for TLS, `protocol` what the port answers.
    """
    text = _text_of(error)
    for pattern, line, is_transient in _REDIS_REFUSALS:
        if re.search(pattern, text):
            return Fault(f"REDIS_URL: {line}", is_transient)
    return _network_fault(_REDIS, text, address, tls, protocol)


def sentinel_fault(error: BaseException, name: str, tls: bool) -> Fault:
    """Return the fault of a Redis that sentinels know as `name`, which failed with `error`."""
    if "No master found" in _text_of(error):
        return Fault(
            f"REDIS_URL: no sentinel that answers knows a primary {name}: start the sentinels, and "
            "name one that they monitor",
            is_transient=True,
        )
    return redis_fault(error, f"the primary {name}", tls, "nothing")


def mongodb_fault(
    error: BaseException, replica_set: str, tls: bool, seeds: Iterable[Seed]
) -> Fault:
    """Return the fault of the MongoDB that failed with `error`.

    `replica_set` is the name in MONGODB_URI, if any; `tls` says whether it asks for TLS. The fault
    is transient if that of any seed is.
    """
    refused = _refusal(error)
    if refused is not None:
        return refused
    all_faults = [_seed_fault(seed, replica_set, tls) for seed in seeds]
    faults = [fault for fault in all_faults if fault is not None]
    if faults and len(faults) == len(all_faults):
        return next((fault for fault in faults if fault.is_transient), faults[0])
    text = _text_of(error)
    if all_faults and (member := _MEMBERS.search(text)):
        return Fault(
            f"MONGODB_URI: its replica set names a member {member[1]}, which cannot be reached "
            "from here: rs.conf() has to have names that hold for everyone",
            True,
        )
    if all_faults:
        return Fault("MONGODB_URI: the replica set has no primary now", True)
    return _network_fault(_MONGODB, text, "its servers", tls, "nothing")


def hello_fault(hello: Mapping[str, Any], replica_set: str) -> Fault | None:
    """Return why the server with this `hello` cannot be used.

    Returns None if it is a member of the replica set, or a router of a sharded cluster.
    """
    name = hello.get("setName")
    if name is None and hello.get("isreplicaset"):
        return Fault(
            "MONGODB_URI: the replica set was never initiated: run once: "
            "mongosh --eval 'rs.initiate()'",
            True,
        )
    if name is None and hello.get("msg") != "isdbgrid":
        return Fault(STANDALONE, False)
    if name is not None and replica_set and name != replica_set:
        return Fault(
            f"MONGODB_URI: its servers are of the replica set {name}: write replicaSet={name} "
            f"instead of {replica_set}",
            False,
        )
    return None


def _refusal(error: BaseException) -> Fault | None:
    """Return the fault of an error with a code of MongoDB; None if there is none for it."""
    code = getattr(error, "code", None)
    if code in _MONGODB_REFUSALS:
        return Fault(f"MONGODB_URI: {_MONGODB_REFUSALS[code]}", False)
    text = str(error)
    if code == _DUPLICATE_KEY:
        return Fault(_duplicate(text), False)
    if code in _OTHER_INDEX:
        reason = _one_line(text.partition(", full error")[0])
        return Fault(f"MongoDB has an index in the place of one of ours: drop it ({reason})", False)
    return None


def _duplicate(text: str) -> str:
    match = _DUPLICATE.search(text)
    if match is None:
        return f"MongoDB has documents that are to be unique and are not: {_one_line(text)}"
    collection, index, key = match.groups()
    return (
        f"MongoDB has more than one document with {_one_line(key)}, which the unique index {index} "
        f"of {collection} does not allow: delete all but one and start again"
    )


def _seed_fault(seed: Seed, replica_set: str, tls: bool) -> Fault | None:
    if seed.hello is not None:
        return hello_fault(seed.hello, replica_set)
    return _network_fault(_MONGODB, seed.error, seed.address, tls, seed.protocol)


def _network_fault(
    words: _Wording, text: str, address: str, tls: bool, protocol: PortProtocol
) -> Fault:
    if tls and protocol == "plain":
        return Fault(f"{words.variable}: {address} speaks no TLS: {words.without_tls}", False)
    if not tls and protocol == "tls":
        return Fault(f"{words.variable}: {address} speaks TLS only: {words.with_tls}", False)
    lines = (_AFTER_HANDSHAKE, *_NETWORK) if tls and protocol == "tls" else _NETWORK
    for pattern, line, is_transient in lines:
        if match := re.search(pattern, text):
            text = line.format(*match.groups(), address=address, words=words)
            return Fault(f"{words.variable}: {text}", is_transient)
    return Fault(f"{words.variable}: {words.name} cannot be used: {_one_line(text)}", True)


def _text_of(error: BaseException) -> str:
    """Return the text of an error and its causes, because a client's own may omit the reason."""
    texts: list[str] = []
    cause: BaseException | None = error
    while cause is not None:
        texts.append(f"{type(cause).__name__}: {cause}")
        cause = cause.__cause__
    return "\n".join(texts)


def _one_line(text: str) -> str:
    return " ".join(text.split())[:300]
