"""The costs of periods, and the rooms that their endpoints ask."""

from typing import NamedTuple

from tracker.costs.store import Costs
from tracker.links.services import LinkServices
from tracker.reports.services import ReportServices
from tracker.stores.services import StoreServices
from tracker.web.call import Body, Call, Query


class CostServices(NamedTuple):
    """The stored costs, and what their filters and clicks are found with."""

    costs: Costs
    links: LinkServices
    reports: ReportServices


def build(
    *,
    stores: StoreServices,
    links: LinkServices,
    reports: ReportServices,
) -> CostServices:
    return CostServices(Costs(stores.mongodb), links, reports)


CostCall = Call[CostServices, Query, Body]
"""A call of an endpoint of this room."""
