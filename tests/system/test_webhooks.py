"""A conversion reaches the receiver of a running service."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from standardwebhooks import Webhook

from config.settings import Settings
from tests.system.owner import new_owner
from tests.system.service import environment, running
from tests.waiting import until


class Receiver:
    """A real receiver in a thread."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.received: list[tuple[dict[str, str], bytes]] = []


@contextmanager
def receiving() -> Iterator[Receiver]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            headers = {name.lower(): value for name, value in self.headers.items()}
            receiver.received.append((headers, body))
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
