"""What an attack is given, and what it reports: both cross a pipe between processes as JSON."""

import msgspec


class Owner(msgspec.Struct, frozen=True):
    """An account as its owner knows it: `slug` is one of its links, `pbk` a postback key."""

    account_id: str
    key: str
    pbk: str
    slug: str


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """The service under attack. `own_port` is that of a web process for a single attack, `guarded`
    an account that has every rule against forged conversions switched on, and `domain` a custom
    domain that `neighbour` has proven."""

    port: int
    own_port: int
    attacker: Owner
    neighbour: Owner
    guarded: Owner
    domain: str


class Report(msgspec.Struct, kw_only=True):
    """The answers to an attack. `answers` counts by status or by how a connection ended; `findings`
    are sentences about what it should not have got, empty if there is nothing."""

    answers: dict[str, int] = msgspec.field(default_factory=dict)
    findings: list[str] = msgspec.field(default_factory=list)
