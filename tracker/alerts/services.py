"""The rules of alerts and summaries, and the loop that tells of them."""

from typing import NamedTuple

from tracker.alerts.rules import Rules
from tracker.alerts.telling import Telling
from tracker.journal.services import JournalServices
from tracker.reports.services import ReportServices
from tracker.stores.services import StoreServices
from tracker.web.call import Body, Call, Query
from tracker.webhooks.delivery import Kind
from tracker.webhooks.services import WebhookServices


class AlertServices(NamedTuple):
    """The rules, their loop, and what they name."""

    alerts: Rules
    summaries: Rules
    telling: Telling
    reports: ReportServices
    webhooks: WebhookServices


def build(
    *,
    stores: StoreServices,
    journal: JournalServices,
    reports: ReportServices,
    webhooks: WebhookServices,
) -> AlertServices:
    mongodb, queue = stores.mongodb, webhooks.queue
    alerts = Rules(mongodb, "alerts", Kind.ALERT_FIRED, queue)
    summaries = Rules(mongodb, "summaries", Kind.SUMMARY_SENT, queue)
    telling = Telling(mongodb, reports, journal, alerts, summaries)
    return AlertServices(alerts, summaries, telling, reports, webhooks)


AlertCall = Call[AlertServices, Query, Body]
