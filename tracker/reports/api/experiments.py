"""`/api/short-links/{id}/experiment`: which variant of a split converts more, and how surely."""

from typing import Annotated
from uuid import UUID

import msgspec
from msgspec import Meta

from tracker.links.api.short_links import find_own
from tracker.reports.api.answer import zone_of
from tracker.reports.api.schema import DateRange, OptionalDays
from tracker.reports.experiments.experiment import read_experiment
from tracker.reports.experiments.results import WARNING, VariantResult, results_of
from tracker.reports.experiments.statistics import CONFIDENCE, POWER
from tracker.reports.services import ReportCall
from tracker.web.call import Nothing
from tracker.web.endpoint import Endpoints
from tracker.web.schema import TimeZone

endpoint = Endpoints("reports")


class ShowExperiment(OptionalDays, kw_only=True):
    """The split, and the days of its clicks."""

    rule_id: Annotated[
        UUID | None, Meta(description="the rule of the split; default: the link's own split")
    ] = None


class ExperimentAnswer(msgspec.Struct, kw_only=True):
    """The variants of a split, the first one first, then those that it no longer has."""

    variants: Annotated[
        list[VariantResult], Meta(description="empty if there is no split and was none")
    ]
    date_range: DateRange
    time_zone: TimeZone
    confidence: Annotated[float, Meta(description="of all intervals")] = CONFIDENCE
    power: Annotated[float, Meta(description="of the smallest increase")] = POWER
    warning: str = WARNING


@endpoint(
    "GET",
    "/api/short-links/{id}/experiment",
    "reports:read",
    ends_with_client=True,
    limited=True,
)
async def show_experiment(call: ReportCall[ShowExperiment, Nothing]) -> ExperimentAnswer:
    """Compare the variants of a split by the conversions of their clicks.

    Raises BadRequest if the days are in no order or too many, RateLimited or Unavailable if too
    many reports wait, Unavailable if it takes too long.
    """
    query, services = call.query, call.services
    link = await find_own(call, services.links.links)
    async with services.reports.begin(call.account_id) as run:
        date_range = query.date_range(run.scope.calendar)
        variants = await read_experiment(run, link, query.rule_id, date_range.days())
    return ExperimentAnswer(
        variants=results_of(variants),
        date_range=date_range,
        time_zone=zone_of(run.scope.calendar, date_range.days(), run.at),
    )
