"""Every attack, as a table: what it is called, what runs it, and which process it meets."""

from collections.abc import Awaitable, Callable
from typing import Final, Literal, NamedTuple

from lab.abuse import accounts, strangers
from lab.abuse.target import Report, Target

Serving = Literal["web", "tls", "unread log", "public targets"]
"""The web process that all share, one that speaks TLS, one whose log is not read meanwhile, or one
that refuses webhooks to this machine, as the others must not: receivers of attacks are here."""


class Row(NamedTuple):
    """`attack` runs for the seconds that it is given, in a process of its own."""

    name: str
    title: str
    attack: Callable[[Target, float], Awaitable[Report]]
    serving: Serving = "web"


ROWS: Final = (
    Row("nested-json", "1 MiB of nested JSON, long queries, forms", strangers.nested_json),
    Row("bodies", "60 bodies of 8 MiB that never end", strangers.unfinished_bodies),
    Row("names", "1,000 random slugs, hosts and keys a second", strangers.random_names),
    Row("nobody", "conversions of clicks that never were", strangers.events_of_nobody),
    Row("forged", "conversions forged by a visitor", strangers.forged_conversions),
    Row("connections", "2,000 idle connections of one address", strangers.idle_connections),
    Row("handshakes", "2,000 TLS handshakes never begun", strangers.idle_handshakes, "tls"),
    Row("network", "API keys guessed from one IPv6 network", strangers.one_network),
    Row("log", "a log that nobody reads", strangers.nothing, "unread log"),
    Row(
        "resolver", "webhooks to names whose DNS is silent", accounts.silent_names, "public targets"
    ),
    Row("domains", "claims on other people's domains", accounts.claimed_domains),
    Row("loop", "a webhook to the service itself", accounts.webhook_loop),
    Row("reports", "50 crossed reports beside a small one", accounts.crossed_reports),
    Row("trickle", "a receiver that answers byte by byte", accounts.trickling_receiver),
    Row("gone", "a receiver that is gone", accounts.failing_receiver),
)
