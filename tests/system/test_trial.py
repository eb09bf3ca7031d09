"""The first minutes of a newcomer: `run.py` on its built-in stores."""

import os
import re
import shlex
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlsplit

import pytest
import redis
from pymongo import MongoClient

from config.settings import Settings
from tests.ports import free_port
from tests.system.owner import script
from tests.system.service import Service, ended, environment, running
from tests.waiting import PROCESS_PATIENCE_SECONDS, until
from tracker.stores.builtin.data_folder import DataFolder


class Trial(NamedTuple):
    """A trial that runs, and its environment."""

    variables: dict[str, str]
    service: Service


@pytest.fixture(scope="module")
def trial(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trial]:
    """Yield a trial after its first start, for tests that may share it."""
    variables = environment(DATA_DIR=str(tmp_path_factory.mktemp("trial")))
    with running(variables) as service:
        yield Trial(variables, service)


def curl_lines(banner: str) -> list[str]:
    return [line.strip() for line in banner.splitlines() if " curl -s" in line]


def paste(line: str) -> str:
    assert shlex.split(line)
    return subprocess.run(
        ["bash", "-c", line],
        capture_output=True,
        text=True,
        timeout=PROCESS_PATIENCE_SECONDS,
        check=True,
    ).stdout


def test_the_banner_of_a_first_start_can_be_pasted(trial: Trial) -> None:
    create, open_link, convert, report = curl_lines(trial.service.banner)
    assert '"short_url"' in paste(create)
    opened = paste(open_link)
    assert opened.startswith("HTTP/1.1 302")
    location = next(line for line in opened.splitlines() if line.startswith("Location: "))
    click_id = parse_qs(urlsplit(location).query)["click_id"][0]
    assert '"success":true' in paste(convert)
    assert '"success":true' in paste(f'{convert[:-1]}&click_id={click_id}"')
    until(lambda: '"conversions":2' in paste(report))
    assert '"name":"Demo link","clicks":1,' in paste(report)


def test_the_banner_begins_with_a_link_by_which_the_owner_joins(trial: Trial) -> None:
    service = trial.service
    links = re.findall(r"http://\S+", service.banner)
    assert links[0] == f"http://localhost:{service.port}"
    url, _, token = links[1].partition("#")
    assert url == f"http://localhost:{service.port}/console/join"
    body = {"token": token, "email": "ada@example.com", "name": "Ada", "password": "a" * 12}
    page = {"Host": f"localhost:{service.port}", "Origin": links[0]}
    with service.client() as client:
        joined = client("POST", "/api/join", body, page | {"Content-Type": "application/json"})
    assert (joined.status, joined.json["role"]) == (200, "owner")
    assert joined.json["account"]["name"] == "Demo"


def test_the_root_path_of_a_trial_redirects_to_the_console(trial: Trial) -> None:
    service = trial.service
    assert f"{service.port}/docs" in service.banner
    answer = service.get("/")
    console = f"http://localhost:{service.port}/console"
    assert (answer.status, answer.headers["location"]) == (302, console)
    assert service.get("/docs").status == 200


def test_the_banner_names_the_internal_port_for_the_documentation(tmp_path: Path) -> None:
    port = free_port()
    variables = environment(DATA_DIR=str(tmp_path), INTERNAL_PORT=str(port))
    with running(variables) as service:
        assert f"http://localhost:{port}/docs" in service.banner
        assert f":{service.port}/docs" not in service.banner


def test_in_production_the_root_path_is_unknown(settings: Settings) -> None:
    port = free_port()
    variables = environment(
        settings,
        ENV="production",
        ALLOW_INSECURE="true",
        BASE_URL=f"http://localhost:{port}",
        PORT=str(port),
    )
    with running(variables) as service:
        assert service.get("/").status == 404
        assert service.get("/").body == service.get("/none").body


def test_a_stop_leaves_no_store_and_a_later_start_has_the_data_and_says_how_to_make_a_key(
    tmp_path: Path,
) -> None:
    variables = environment(DATA_DIR=str(tmp_path))
    with running(variables) as first:
        assert "trk_" in first.banner
        assert first.stop(signal.SIGINT) == 0
    assert not (tmp_path / "stores.json").exists()
    with running(variables) as later:  # the lock is free: no store was left behind
        assert "trk_" not in later.banner
        assert "scripts.api_keys create --account" in later.banner
        assert later.get("/c/demo").status == 302
        accounts = script(variables, "accounts", "list")
        assert [account["name"] for account in accounts] == ["Demo"]
        assert accounts[0]["id"] in later.banner


def test_a_signal_right_after_the_start_stops_the_service_too(settings: Settings) -> None:
    for _ in range(5):
        with running(environment(settings)) as service:
            assert service.stop(signal.SIGTERM) == 0


def test_a_second_start_on_the_same_data_says_so(trial: Trial) -> None:
    refused = ended(trial.variables)
    [line] = refused.stderr.splitlines()
    assert refused.returncode == 1
    assert trial.variables["DATA_DIR"] in line
    assert str(trial.service.process.pid) in line
    assert trial.service.get("/readyz").status == 200


def test_a_script_that_starts_stores_of_its_own_says_so(trial: Trial, tmp_path: Path) -> None:
    command = ("-m", "scripts.accounts", "list", "--json")
    own = ended(environment(DATA_DIR=str(tmp_path)), *command)
    assert (own.returncode, own.stderr) == (
        0,
        "python -m scripts.accounts: no REDIS_URL and no MONGODB_URI is set, and no service runs "
        f"on {tmp_path}: starting built-in stores there until this ends\n",
    )
    shared = ended(trial.variables, *command)
    assert (shared.returncode, shared.stderr) == (0, "")


def test_the_banner_can_be_pasted_after_an_account_was_made_by_hand(tmp_path: Path) -> None:
    variables = environment(DATA_DIR=str(tmp_path))
    script(variables, "accounts", "create", "Mine")
    with running(variables) as service:
        create, open_link, convert, _ = curl_lines(service.banner)
        assert '"short_url"' in paste(create)
        assert paste(open_link).startswith("HTTP/1.1 302")
        assert '"success":true' in paste(convert)


@pytest.mark.parametrize("processes", ["1", "2"])
def test_a_built_in_store_that_ends_ends_the_service_and_loses_no_click(
    tmp_path: Path, processes: str
) -> None:
    variables = environment(DATA_DIR=str(tmp_path / "data"), WEB_CONCURRENCY=processes)
    log = tmp_path / "log"
    with log.open("w") as errors, running(variables, errors=errors) as service:
        addresses = DataFolder(tmp_path / "data").addresses()
        assert addresses is not None
        with redis.Redis.from_url(addresses.redis_url) as client:
            killed: Any = client.info("server")
        answered = {service.get("/c/demo").click_id for _ in range(3)}
        os.kill(killed["process_id"], signal.SIGKILL)
        assert service.process.wait(PROCESS_PATIENCE_SECONDS) == 1
    [line] = [line for line in log.read_text().splitlines() if "built-in store ended" in line]
    assert "Redis ended with status -9" in line
    with (
        running(variables) as again,
        MongoClient[dict[str, Any]](
            mongodb_of(tmp_path / "data"), uuidRepresentation="standard"
        ) as mongodb,
    ):
        clicks = mongodb["tracker"]["clicks"]
        until(lambda: {str(row["_id"]) for row in clicks.find({}, ["_id"])} == answered)
        assert again.stop() == 0


def mongodb_of(folder: Path) -> str:
    addresses = DataFolder(folder).addresses()
    assert addresses is not None
    return addresses.mongodb_uri
