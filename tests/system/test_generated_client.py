"""The client that openapi-python-client generates from `/openapi.json` works unchanged."""

import importlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import ModuleType
from typing import Any
from uuid import UUID

import pytest

from config.settings import Settings
from tests.system.owner import new_owner
from tests.system.service import Service, environment, running, until

PACKAGE = "tracker_client"
A_DAY = timedelta(days=1)


class Generated:
    """The generated package, whose modules are imported when they are first used."""

    def __call__(self, path: str) -> ModuleType:
        return importlib.import_module(f"{PACKAGE}.{path}")

    def model(self, name: str, /, **fields: Any) -> Any:
        module = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()
        return getattr(self(f"models.{module}"), name)(**fields)


def generate(url: str, folder: Path) -> None:
    """Run the generator as its documentation says; a warning is a failure.

    It knows no images, and takes them as bytes if it is told to.
    """
    settings = folder / "generator.json"
    kinds = dict.fromkeys(("image/svg+xml", "image/png"), "application/octet-stream")
    settings.write_text(json.dumps({"content_type_overrides": kinds}), encoding="utf-8")
    command = [sys.executable, "-m", "openapi_python_client", "generate", "--meta", "none"]
    command += ["--url", url, "--output-path", str(folder / PACKAGE), "--fail-on-warning"]
    command += ["--config", str(settings)]
    # Beside the interpreter is the formatter that it calls.
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        command, env={**os.environ, "PATH": path}, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture
def variables(settings: Settings) -> dict[str, str]:
    return environment(settings, RATE_LIMIT_IP_PER_MINUTE="0")


@pytest.fixture
def service(variables: dict[str, str]) -> Iterator[Service]:
    with running(variables) as process:
        yield process


@pytest.fixture
def generated(
    service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Generated]:
    generate(f"http://127.0.0.1:{service.port}/openapi.json", tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    yield Generated()
    for name in [name for name in sys.modules if name.partition(".")[0] == PACKAGE]:
        del sys.modules[name]


def test_a_generated_client_makes_a_tag_and_a_link_clicks_converts_and_reads_the_report(
    service: Service, variables: dict[str, str], generated: Generated
) -> None:
    owner = new_owner(variables)
    account_id = UUID(owner.account_id)
    url = f"http://127.0.0.1:{service.port}"
    client = generated("client").AuthenticatedClient(base_url=url, token=owner.key)
    model = generated.model

    def call(operation: str, *path: Any, **arguments: Any) -> Any:
        return generated(f"api.{operation}").sync(*path, client=client, **arguments)

    with client:
        body = model("ListOrCreateTag", account_id=account_id, name="Spring")
        tag = call("tags.create_tag", body=body)
        assert (tag.name, tag.account_id) == ("Spring", account_id)
        assert [one.id for one in call("tags.list_tags", account_id=account_id).rows] == [tag.id]

        body = model(
            "CreateShortLink",
            account_id=account_id,
            destination_url="https://shop.test/{slug}",
            slug="spring",
            tags=[tag.id],
        )
        link = call("short_links.create_short_link", body=body)
        listed = call(
            "short_links.list_short_links", account_id=account_id, selected_tags=[str(tag.id)]
        )
        assert [one.id for one in listed.rows] == [link.id]

        opened = generated("api.clicks.open_short_link").sync_detailed(
            "spring",
            client=client,
            parameters=generated("models.open_short_link_parameters")
            .OpenShortLinkParameters()
            .from_dict({"utm_source": "news"}),
        )
        assert opened.status_code == 302
        match = re.fullmatch(
            r"https://shop\.test/spring\?utm_source=news&click_id=(.+)", opened.headers["location"]
        )
        assert match is not None

        metadata = generated("models.conversion_metadata").ConversionMetadata.from_dict({"a": [1]})
        body = model("Conversion", click_id=UUID(match[1]), value=12.5, metadata=metadata)
        recorded = call("conversions.record_event", body=body)
        assert recorded.success is True

        today = datetime.now(UTC).date()
        group_by = generated("models.create_report_group_by").CreateReportGroupBy.TAG
        body = model(
            "CreateReport",
            account_id=account_id,
            date_range=model("DateRange", from_=today - A_DAY, to=today + A_DAY),
            group_by=group_by,
            bots=generated("models.create_report_bots").CreateReportBots.INCLUDE,
        )

        def counts() -> tuple[int, int]:
            totals = call("reports.create_report", body=body).totals
            return totals.clicks, totals.conversions

        until(lambda: counts() == (1, 1))

        refused = call("short_links.get_short_link", UUID(int=1))
        assert refused.error == "short link: not found"
