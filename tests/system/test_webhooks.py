"""Deliveries of a running service, from the conversion to the receiver, and across a stop."""

import json
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from standardwebhooks import Webhook

from config.settings import Settings
from tests.system.conftest import Rows
from tests.system.owner import new_event_config, new_owner
from tests.system.processes import drain
from tests.system.service import environment, running
from tests.waiting import PROCESS_PATIENCE_SECONDS, until


class Receiver:
    """A real receiver in a thread. It answers no request while `hangs` is set."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.received: list[tuple[dict[str, str], bytes]] = []
        self.hangs = threading.Event()
        self.ended = threading.Event()


@contextmanager
def receiving() -> Iterator[Receiver]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            headers = {name.lower(): value for name, value in self.headers.items()}
            receiver.received.append((headers, body))
            if receiver.hangs.is_set():
                receiver.ended.wait(PROCESS_PATIENCE_SECONDS)
                return
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            """Keep requests out of the output of the tests."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    receiver = Receiver(f"http://127.0.0.1:{server.server_port}/hook")
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield receiver
    finally:
        receiver.ended.set()
        server.shutdown()
        server.server_close()


def test_a_conversion_reaches_its_receiver_signed(settings: Settings) -> None:
    variables = environment(settings, WEBHOOK_ALLOW_PRIVATE="true")
    with receiving() as receiver, running(variables) as service:
        owner = new_owner(variables)
        owner.create_link(service, slug="abc")
        webhook = owner.create_webhook(
            service,
            target_url=receiver.url,
            payload_template={
                "click": "{click_id}",
                "amount": "{value}",
                "at": "on {slug}",
                "order": "{metadata.order}",
                "source": "{query.utm_source}",
            },
        )
        click_id = service.get("/c/abc?utm_source=mail").click_id
        query = f"click_id={click_id}&value=12.5&metadata=%7B%22order%22%3A7%7D"
        assert service.get(f"/api/event?{query}").status == 200
        until(lambda: len(receiver.received) == 1)
        [(headers, body)] = receiver.received
        Webhook(webhook["secret"]).verify(body, headers)
        assert json.loads(body) == {
            "click": click_id,
            "amount": 12.5,
            "at": "on abc",
            "order": 7,
            "source": "mail",
        }
        path = f"/api/webhooks/{webhook['id']}/deliveries"
        until(lambda: owner.get(service, f"{path}?status=delivered")["rows"])
        [row] = owner.get(service, path)["rows"]
        assert headers["webhook-id"] == f"msg_{row['id'].replace('-', '')}"
        assert [one["code"] for one in row["attempts"]] == [200]


def test_deliveries_in_flight_at_a_stop_are_sent_at_once_by_another_drain(
    settings: Settings, database: Rows
) -> None:
    variables = environment(settings, WEBHOOK_ALLOW_PRIVATE="true")
    with receiving() as receiver, running(variables, "--role", "web") as web:
        owner = new_owner(variables)
        owner.create_link(web, slug="abc")
        owner.create_webhook(web, target_url=receiver.url)
        receiver.hangs.set()
        with drain(variables) as first:
            web.get(f"/api/event?click_id={web.get('/c/abc').click_id}")
            until(lambda: len(receiver.received) == 1)
            first.send_signal(signal.SIGTERM)
            assert first.wait(PROCESS_PATIENCE_SECONDS) == 0
        [row] = database["deliveries"].find()
        assert (row["status"], row["attempts"], "holder" in row) == ("due", [], False)
        receiver.hangs.clear()
        with drain(variables):
            until(lambda: database["deliveries"].count_documents({"status": "delivered"}) == 1)
        ids = {headers["webhook-id"] for headers, _ in receiver.received}
        bodies = {body for _, body in receiver.received}
        assert (len(receiver.received), len(ids), len(bodies)) == (2, 1, 1)


def test_an_event_with_a_late_click_is_delivered_by_a_running_service(
    settings: Settings, database: Rows
) -> None:
    variables = environment(settings, WEBHOOK_ALLOW_PRIVATE="true")
    with receiving() as receiver, running(variables) as service:
        owner = new_owner(variables)
        pbk = new_event_config(variables, owner)
        owner.create_webhook(service, target_url=receiver.url)
        click_id = "0190b5a2-7c1e-7d3f-8a4b-5c6d7e8f9a0b"
        assert service.get(f"/api/event?pbk={pbk}&click_id={click_id}").status == 200
        until(lambda: database["events"].count_documents({"status": "pending"}) == 1)
        assert database["deliveries"].count_documents({}) == 0
        an_hour_ago = {"$set": {"tell_at": datetime.now(UTC) - timedelta(seconds=1)}}
        database["events"].update_one({}, an_hour_ago)
        until(lambda: len(receiver.received) == 1)
        [(_, body)] = receiver.received
        assert json.loads(body)["click_id"] == click_id
        assert json.loads(body)["country"] is None
