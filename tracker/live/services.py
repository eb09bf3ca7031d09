"""The objects of live streams, built once per process."""

from typing import NamedTuple

from tracker.access.services import AccessServices
from tracker.journal.services import JournalServices
from tracker.live.hub import LiveHub
from tracker.stores.services import StoreServices
from tracker.web.call import Body, Call, Query


class LiveServices(NamedTuple):
    """The hub of open streams."""

    live: LiveHub


def build(
    *, stores: StoreServices, journal: JournalServices, access: AccessServices, base_host: str
) -> LiveServices:
    return LiveServices(
        LiveHub(stores.mongodb.reads, journal.backlog, access.open_answers, base_host)
    )


LiveCall = Call[LiveServices, Query, Body]
"""A call of an endpoint of this room."""
