"""The examples of the documents are true: every command, program and answer shown is run."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit
from uuid import uuid4

import msgspec
import pytest

from config.settings import Settings
from tests.documents import API, GUIDES, OPERATIONS, README, REPORTS, WEBHOOKS, block, text
from tests.paths import ROOT
from tests.ports import free_port
from tests.system.owner import new_event_config, new_owner
from tests.system.service import Service, environment, running
from tests.waiting import PROCESS_PATIENCE_SECONDS, becomes
from tests.web.table import KEYED_ENDPOINTS
from tests.webhooks.receiver import SECRET
from tracker.service.banner import COMMANDS
from tracker.webhooks.delivery import Attempt, Delivery, DeliveryStatus
from tracker.webhooks.operational_messages import delivery_failed, webhook_disabled
from tracker.webhooks.payloads.payload import render
from tracker.webhooks.payloads.template import check_template
from tracker.webhooks.payloads.values import MacroValues
from tracker.webhooks.schedule import DELAYS_SECONDS, Disabled
from tracker.webhooks.sending.client import WebhookClient, WebhookRequest
from tracker.webhooks.sending.signing import signed_request
from tracker.webhooks.store import template_text

NEW_SECRET = "whsec_" + "bmV3" * 8


@pytest.fixture
def service(settings: Settings) -> Iterator[Service]:
    with running(environment(settings)) as process:
        yield process


def test_the_table_of_the_api_has_every_endpoint() -> None:
    shown, methods = set(), []
    table = text(API).partition("| endpoint | does |")[2].partition("\n\n")[0]
    for method, path in re.findall(r"`([A-Z]+)(?: (/[^`]+))?`", table):
        methods.append(method)
        if path:
            shown |= {(one, path) for one in methods}
            methods.clear()
    assert shown == {(one.method, one.path) for one in KEYED_ENDPOINTS}


def test_every_make_command_in_the_documents_is_in_the_makefile() -> None:
    shown = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True)
    verbs = set(re.findall(r"^  make (\S+)", shown.stdout, re.MULTILINE))
    for document in (*GUIDES, "CONTRIBUTING.md", "SECURITY.md"):
        assert set(re.findall(r"(?:^|`)make ([a-z-]+)", text(document), re.MULTILINE)) <= verbs


def commands_of(block: str) -> list[str]:
    """Return the commands of a block, each in one line."""
    return [re.sub(r"\s*\\?\n\s*", " ", command.strip()) for command in block.split("\n\n")]


def test_the_readme_has_the_commands_of_the_banner() -> None:
    assert commands_of(block(README, "curl -s $BASE/api/short-links")) == [
        command for _, command in COMMANDS
    ]


def test_the_pasted_commands_end_in_the_report_that_is_shown(tmp_path: Path) -> None:
    with running(environment(DATA_DIR=str(tmp_path))) as service:
        [exports] = re.findall(r"^ +(export BASE=.*)$", service.banner, re.MULTILINE)

        def paste(command: str) -> str:
            return subprocess.run(
                ["timeout", "30", "bash", "-ec", f"{exports}\n{command}"],
                capture_output=True,
                text=True,
                timeout=PROCESS_PATIENCE_SECONDS,
                check=True,
            ).stdout

        create, open_link, convert, report = commands_of(
            block(README, "curl -s $BASE/api/short-links")
        )
        assert '"short_url"' in paste(create)
        opened = paste(open_link)
        assert "HTTP/1.1 302" in opened
        location = re.search(r"Location: (\S+)", opened)
        assert location is not None
        assert "click_id" in parse_qs(urlsplit(location[1]).query)
        answer, printed = map(json.loads, paste(f"{convert}\necho\n{report}").splitlines())
        assert answer["success"]
        shown = json.loads(block(README, '{"rows"'))
        for row, of_row in zip(printed["rows"], shown["rows"], strict=True):
            assert row.items() >= of_row.items()
        assert printed["totals"].items() >= shown["totals"].items()
        by_country = block(REPORTS, "curl -s $BASE/api/reports -H")
        overview = block(REPORTS, "curl -s $BASE/api/reports/overview")
        shared = block(REPORTS, "curl -s $BASE/api/shares")
        assert "/console/shared#" in json.loads(paste(shared))["url"]
        assert '"groupBy":"country"' in paste(by_country)
        assert '"panels":{"link":' in paste(overview)
        file = block(API, "curl -sf")
        clicks = block(API, 'curl -s "$BASE/api/clicks')
        live = block(API, "curl -sN")
        assert paste(f"cd {tmp_path}\n{file}\ncat links.csv").startswith("id,")
        assert '"since_cursor":' in paste(clicks)
        sent_again = block(API, 'curl -s "$BASE/api/short-links" -H')
        assert paste(sent_again) == paste(sent_again) != ""
        assert paste(f"grep -m 1 '^event: ' < <({live.strip()} 2>&-)") == "event: state\n"


def test_the_commands_for_operators_run_as_they_stand(settings: Settings, tmp_path: Path) -> None:
    commands = block(OPERATIONS, "python -m scripts.accounts")
    account_id = ""
    printed: dict[str, Any] = {}
    lines = commands.splitlines()
    for line in lines:
        command = line.partition("#")[0].strip().replace("<ID>", account_id)
        command = command.replace("/backups", str(tmp_path))
        done = subprocess.run(
            ["bash", "-c", f"{command} --json".replace("python ", f"{sys.executable} ", 1)],
            cwd=ROOT,
            env=environment(settings),
            capture_output=True,
            text=True,
            timeout=PROCESS_PATIENCE_SECONDS,
            check=True,
        )
        printed[line.split()[2]] = json.loads(done.stdout)
        account_id = printed["scripts.accounts"][0]["id"]
    assert printed["scripts.event_configs"][0]["payout"] == 5
    assert printed["scripts.verify"][0]["differences"] == 0
    assert set(printed) == {line.split()[2] for line in lines}


async def test_the_receiver_accepts_each_delivery_once_and_rejects_forged_ones() -> None:
    port = free_port()
    url, now = f"http://127.0.0.1:{port}/", int(time.time())
    payload = b'{"order":"T-1","amount":12.50}'
    signed = signed_request("POST", url, payload, "ab", now, [NEW_SECRET, SECRET])
    forged = msgspec.structs.replace(signed, body=payload.replace(b"1", b"9"))
    broken = msgspec.structs.replace(signed, headers={**signed.headers, "webhook-signature": "x"})
    client = WebhookClient(allow_private=True, dns_address=None)

    async def code_of(request: WebhookRequest) -> int | None:
        return (await client.send(request)).code

    code = block(WEBHOOKS, "import os")
    with subprocess.Popen(
        [sys.executable, "-c", code],
        env={"WEBHOOK_SECRET": SECRET, "PORT": str(port)},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as receiver:
        try:
            await becomes(lambda: code_of(forged), 401)
            codes = [await code_of(one) for one in (forged, signed, broken, signed)]
        finally:
            receiver.terminate()
        assert receiver.stdout is not None
        printed = receiver.stdout.read()
    assert codes == [401, 204, 401, 204]
    assert printed == "{'order': 'T-1', 'amount': 12.5}\n"


def test_the_receiver_works_as_pasted_against_a_trial(tmp_path: Path) -> None:
    code = block(WEBHOOKS, "import os")
    (tmp_path / "receiver.py").write_text(code)
    start, paste = block(WEBHOOKS, "WEBHOOK_ALLOW_PRIVATE"), block(WEBHOOKS, "export PORT")
    assert start.endswith(" make run\n")
    name, _, value = start.split()[0].partition("=")
    with running({**environment(DATA_DIR=str(tmp_path / "data")), name: value}) as service:
        [exports] = re.findall(r"^ +(export BASE=.*)$", service.banner, re.MULTILINE)
        commands = paste.replace("9000", str(free_port())).replace("python ", f"{sys.executable} ")
        with subprocess.Popen(
            ["timeout", "30", "bash", "-ec", f"{exports}\n{commands}\nwait"],
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        ) as shell:
            assert shell.stdout is not None
            printed = ""
            try:
                while not all(one in printed for one in ('"success":true', "'value': 12.5,")):
                    piece = shell.stdout.read(1)
                    assert piece, printed
                    printed += piece
            finally:
                os.killpg(shell.pid, signal.SIGTERM)


def test_the_retry_delays_shown_are_those_of_the_schedule() -> None:
    shown = re.search(r"at once, then (.*?) hours\s+after", text(WEBHOOKS), re.DOTALL)
    assert shown is not None
    units = {"seconds": 1, "minutes": 60}
    seconds = [
        int(number) * units.get(unit, 3600)
        for number, unit in re.findall(r"(\d+) ?(\w*)", shown[1])
    ]
    assert [0, *seconds] == list(DELAYS_SECONDS)


def test_the_answer_to_a_conversion_has_the_fields_that_are_shown(
    settings: Settings, service: Service
) -> None:
    pbk = new_event_config(environment(settings), new_owner(environment(settings)))
    shown = json.loads(block(API, '{"success"'))
    assert set(service.get(f"/api/event?pbk={pbk}").json) == set(shown)


def test_the_template_that_is_shown_makes_the_payload_that_is_shown() -> None:
    template = json.loads(block(WEBHOOKS, '{"order": "{transaction_id}"'))
    payload = json.loads(block(WEBHOOKS, '{"order": null'))
    check_template(template)
    values = MacroValues(
        fields={"value": Decimal("12.5"), "country": "DE", "tags": ["summer", "mail"]},
        metadata={"plan": "pro"},
        query={"utm_source": "newsletter"},
    )
    assert json.loads(render(template_text(template), values)) == payload


def test_the_operational_messages_have_the_fields_that_are_shown() -> None:
    ids, at = (uuid4(), uuid4()), datetime.now(UTC)
    attempt = Attempt(at=at, milliseconds=1, code=500, answer="", error="status 500")
    delivery = Delivery(
        id=uuid4(), webhook_id=ids[0], account_id=ids[1], status=DeliveryStatus.DUE, created_at=at
    )
    sent = [
        webhook_disabled(*ids, "name", Disabled.FAILING, at),
        delivery_failed(delivery, attempt),
    ]
    shown = (
        block(WEBHOOKS, '{"type": "webhook.disabled"'),
        block(WEBHOOKS, '{"type": "delivery.failed"'),
    )
    for one, message in zip(shown, sent, strict=True):
        example, payload = json.loads(one), json.loads(message.payload())
        assert example.keys() == payload.keys()
        assert example["type"] == payload["type"]
        assert example["data"].keys() == payload["data"].keys()
