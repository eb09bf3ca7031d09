"""Reports of an account's clicks and conversions."""

from typing import NamedTuple

from tracker.public_url import PublicUrl
from tracker.reports.answers.reports import Reports
from tracker.stores.services import StoreServices
from tracker.web.call import Body, Call, Query


class ReportServices(NamedTuple):
    """The reports, and the host that stands for links without a domain."""

    reports: Reports
    public_url: PublicUrl


def build(*, stores: StoreServices, public_url: PublicUrl) -> ReportServices:
    return ReportServices(Reports(stores.mongodb, public_url.host), public_url)


ReportCall = Call[ReportServices, Query, Body]
"""A call of an endpoint of this room."""
