"""Reports of an account's clicks and conversions."""

from typing import NamedTuple

from tracker.links.services import LinkServices
from tracker.public_url import PublicUrl
from tracker.reports.answers.reports import Reports
from tracker.stores.services import StoreServices
from tracker.web.call import Body, Call, Query


class ReportServices(NamedTuple):
    """The reports, links, and the host that stands for links without a domain."""

    reports: Reports
    links: LinkServices
    public_url: PublicUrl


def build(*, stores: StoreServices, links: LinkServices, public_url: PublicUrl) -> ReportServices:
    return ReportServices(Reports(stores.mongodb, public_url.host), links, public_url)


ReportCall = Call[ReportServices, Query, Body]
"""A call of an endpoint of this room."""
