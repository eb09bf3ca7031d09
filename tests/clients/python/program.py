"""A program with the client that openapi-python-client makes: links, a conversion and its webhook,
a report and its file. It takes BASE, ACCOUNT_ID and API_KEY from the environment."""

import json
import os
import time
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from queue import Queue
from threading import Thread
from typing import Any, TypeVar
from urllib.parse import parse_qs, urlsplit
from uuid import UUID

from standardwebhooks import Webhook, WebhookVerificationError
from tracker_client import AuthenticatedClient
from tracker_client.api.clicks import open_short_link
from tracker_client.api.conversions import record_event_by_pixel
from tracker_client.api.event_configs import create_event_config
from tracker_client.api.reports import create_report, export_report
from tracker_client.api.short_links import (
    create_short_link,
    create_short_links,
    export_short_links,
    list_short_links,
)
from tracker_client.api.tags import create_tag
from tracker_client.api.webhooks import create_webhook
from tracker_client.models import (
    CreateEventConfigRequest,
    CreateReportRequest,
    CreateReportRequestBots,
    CreateReportRequestGroupByType0,
    CreateShortLinkRequest,
    CreateShortLinksRequest,
    CreateWebhookRequest,
    CreateWebhookRequestPayloadTemplateType0,
    DateRange,
    Error,
    ExportReportRequest,
    ExportReportRequestBots,
    ExportReportRequestGroupByType0,
    ListOrCreateTagRequest,
    ListShortLinksSort,
    NewShortLink,
    OpenShortLinkParameters,
    PayoutType,
    ReportFilters,
    TagRecord,
)

Answer = TypeVar("Answer")

ACCOUNT = UUID(os.environ["ACCOUNT_ID"])
client = AuthenticatedClient(base_url=os.environ["BASE"], token=os.environ["API_KEY"])


def done(answer: Answer | Error | None) -> Answer:
    """Return the answer; fail with the error that the service named."""
    assert answer is not None
    assert not isinstance(answer, Error), answer.error
    return answer


class Receiver(BaseHTTPRequestHandler):
    """Verifies deliveries and puts them into `delivered`."""

    secret = ""
    delivered: "Queue[Any]" = Queue()

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        try:
            self.delivered.put(Webhook(self.secret).verify(body, dict(self.headers)))
            self.send_response(204)
        except (WebhookVerificationError, ValueError):
            self.send_response(401)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


# A tag, and links with it: one alone, two together.
tag = done(
    create_tag.sync(client=client, body=ListOrCreateTagRequest(account_id=ACCOUNT, name="Spring"))
)
assert isinstance(tag, TagRecord)
new_link = CreateShortLinkRequest(
    account_id=ACCOUNT, destination_url="https://shop.example/{slug}", slug="spring", tags=[tag.id]
)
link = done(create_short_link.sync(client=client, body=new_link))
new_links = CreateShortLinksRequest(
    account_id=ACCOUNT,
    links=[
        NewShortLink(destination_url="https://shop.example/a", slug="a", active=False),
        NewShortLink(destination_url="https://shop.example/b", slug="b", tags=[tag.id]),
    ],
)
made = done(create_short_links.sync(client=client, body=new_links))
assert [row.slug for row in made.rows] == ["a", "b"]

# Filters of the list.
listed = done(
    list_short_links.sync(
        client=client,
        account_id=ACCOUNT,
        selected_tags=[str(tag.id)],
        sort=ListShortLinksSort.SLUG,
    )
)
assert [row.slug for row in listed.rows] == ["b", "spring"]
assert listed.pagination.total_rows == 2
found = done(list_short_links.sync(client=client, account_id=ACCOUNT, slug="spring"))
assert [row.id for row in found.rows] == [link.id]

# A webhook, whose deliveries are verified.
receiver = HTTPServer(("127.0.0.1", 0), Receiver)
Thread(target=receiver.serve_forever, daemon=True).start()
template = {"click": "{click_id}", "value": "{value}", "plan": "{metadata.plan}"}
webhook = done(
    create_webhook.sync(
        client=client,
        body=CreateWebhookRequest(
            account_id=ACCOUNT,
            target_url=f"http://127.0.0.1:{receiver.server_port}/",
            payload_template=CreateWebhookRequestPayloadTemplateType0.from_dict(template),
        ),
    )
)
Receiver.secret = webhook.secret

# A click, and its conversion.
new_config = CreateEventConfigRequest(
    account_id=ACCOUNT, name="Purchase", payout_type=PayoutType.REVSHARE, payout=10
)
config = done(create_event_config.sync(client=client, body=new_config))
click = open_short_link.sync_detailed(
    "spring", client=client, parameters=OpenShortLinkParameters.from_dict({"utm_source": "news"})
)
location = urlsplit(click.headers["location"])
assert location.path == "/spring"
[click_id] = parse_qs(location.query)["click_id"]
recorded = done(
    record_event_by_pixel.sync(
        client=client,
        pbk=config.pbk,
        click_id=UUID(click_id),
        value=12.5,
        metadata=json.dumps({"plan": "pro"}),
        transaction_id="order-1",
    )
)
assert recorded.event_id > 0
payload = Receiver.delivered.get(timeout=30)
assert payload == {"click": click_id, "value": 12.5, "plan": "pro"}
receiver.shutdown()

# A report with filters, and the same as a file.
today, one_day = datetime.now(UTC).date(), timedelta(days=1)
days = DateRange(from_=today - one_day, to=today + one_day)
filters = ReportFilters(utm_source="news", tag=[tag.id])
asked = CreateReportRequest(
    account_id=ACCOUNT,
    date_range=days,
    group_by=CreateReportRequestGroupByType0.LINK,
    filters=filters,
    bots=CreateReportRequestBots.INCLUDE,
)
deadline = time.monotonic() + 30
while (report := done(create_report.sync(client=client, body=asked))).totals.conversions < 1:
    assert time.monotonic() < deadline, "the conversion is not counted"
    time.sleep(0.05)
assert [(row.key, row.clicks, row.value) for row in report.rows] == [(str(link.id), 1, 12.5)]
file = ExportReportRequest(
    account_id=ACCOUNT,
    date_range=days,
    group_by=ExportReportRequestGroupByType0.LINK,
    filters=filters,
    bots=ExportReportRequestBots.INCLUDE,
)
csv = done(export_report.sync(client=client, body=file))
assert csv.startswith("key,name,clicks,")
assert csv.count("\r\n") == 2
links = done(export_short_links.sync(client=client, account_id=ACCOUNT))
assert links.count("\r\n") == 4

# An error names the field and the rule.
refused = create_tag.sync(
    client=client, body=ListOrCreateTagRequest(account_id=ACCOUNT, name="spring")
)
assert isinstance(refused, Error)
assert refused.error.startswith("name: another tag")

print(f"verified: {click_id}")
