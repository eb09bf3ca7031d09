"""Every block of code in the documents has a test; here are those of the guides for operators."""

import ast
import configparser
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit
from urllib.request import urlopen

import yaml  # type: ignore[import-untyped]
from pymongo import MongoClient

from config.settings import Settings
from tests import documents
from tests.documents import DEPLOY, DOCUMENTS, OPERATIONS, WEBHOOKS, block, blocks, text
from tests.paths import ROOT
from tests.ports import free_port
from tests.stores.given import EXAMPLE
from tests.stores.redis.own_cluster import forget_everything
from tests.system.owner import new_owner
from tests.system.service import environment, running
from tracker.conversions.event_ids import GAP_IDS
from tracker.service.services import Services
from tracker.stores.builtin.stores import run_stores
from tracker.webhooks.payloads.target_template import TargetTemplate

PICTURES = {documents.ARCHITECTURE}
"""Their blocks are drawings."""

TYPED_ELSEWHERE = {
    ("README.md", "make run"): "every verb is a test's, of `make` itself or of what it starts"
}


def calls_of_block() -> Iterator[tuple[str, str]]:
    """Yield the document and the beginning in each call of `block` in the tests."""
    for path in (ROOT / "tests").rglob("test_*.py"):
        if "block(" not in (source := path.read_text(encoding="utf-8")):
            continue
        for node in ast.walk(ast.parse(source)):
            match node:
                case ast.Call(
                    func=ast.Name("block"), args=[ast.Name(document), ast.Constant(str(beginning))]
                ):
                    yield getattr(documents, document), beginning


def test_every_block_of_the_documents_has_a_test() -> None:
    # A fence that `blocks` does not read would hide its block.
    for document in DOCUMENTS:
        fences = re.findall(r"^[ >]*(?:```|~~~)", text(document), re.MULTILINE)
        assert len(fences) == 2 * len(blocks(document)), document
    known = {*calls_of_block(), *TYPED_ELSEWHERE}
    untested = [
        (document, found)
        for document in DOCUMENTS
        if document not in PICTURES
        for found in blocks(document)
        if not any(of == document and found.startswith(beginning) for of, beginning in known)
    ]
    assert untested == []


def pasted(commands: str, variables: dict[str, str], timeout: int = 60) -> str:
    """Return what commands print in a shell whose `python` is that of the tests."""
    done = subprocess.run(
        ["bash", "-ec", commands],
        cwd=ROOT,
        env=variables | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_suite_runs_on_given_stores_as_it_stands(tmp_path: Path) -> None:
    command = block(OPERATIONS, ".venv/bin/python -m pytest")
    assert all((ROOT / one).is_dir() for one in re.findall(r"\btests/\w+", command))
    with run_stores(Settings(data_dir=str(tmp_path), log_level="warning")) as stores:
        command = command.replace("redis://127.0.0.1:6379/0", stores.redis_url)
        command, changed = re.subn(r"'mongodb://[^']*'", f"'{stores.mongodb_uri}'", command)
        assert changed == 1
        # Both folders take minutes, and are run anyway: one test of each store is enough here.
        command = command.replace("tests/stores tests/journal", EXAMPLE)
        variables = {name: os.environ[name] for name in os.environ if "PYTEST" not in name}
        pasted(command.replace(".venv/bin/python", sys.executable), variables, timeout=120)


def test_a_backup_is_made_checked_and_restored_as_it_stands(
    settings: Settings, mongodb: MongoClient[dict[str, Any]], tmp_path: Path
) -> None:
    # Not the database of the other tests: dropped, it would be without its indexes.
    name = "tracker_pasted"
    variables = environment(settings, MONGODB_DATABASE=name)
    owner = new_owner(variables)
    commands = block(OPERATIONS, "python -m scripts.backup")
    assert set(re.findall(r"/backups\S*", commands)) == {"/backups/2026-01-31"}
    commands = commands.replace("/backups", str(tmp_path))
    create, check, restore = commands.splitlines()
    pasted(f"{create}\n{check}", variables)
    forget_everything(settings.redis_url)
    mongodb.drop_database(name)
    try:
        pasted(restore, variables)
        [account] = mongodb[name]["accounts"].find()
    finally:
        mongodb.drop_database(name)
    assert str(account["_id"]) == owner.account_id


async def test_the_command_after_a_copied_folder_skips_event_ids(services: Services) -> None:
    command = block(OPERATIONS, 'db.getSiblingDB("tracker").counters')
    shown = re.fullmatch(
        r'db\.getSiblingDB\("tracker"\)\.(\w+)\.updateOne\((\{.*\}), (\{.*\})\)\n', command
    )
    assert shown is not None
    collection, *arguments = shown.groups()
    # mongosh takes names without quotes, and writes 64 bits as Long.
    plain = [re.sub(r'Long\("(\d+)"\)', r"\1", one) for one in arguments]
    query, update = (json.loads(re.sub(r"([{ ])(\$?\w+):", r'\1"\2":', one)) for one in plain)
    database = services.stores.mongodb
    await services.conversions.event_ids.start()
    await services.conversions.event_ids.next()
    before = await database[collection].find_one(query)
    assert before is not None
    await database[collection].update_one(query, update)
    after = await database[collection].find_one(query)
    assert after is not None
    assert after["last"] == before["last"] + GAP_IDS


def test_prometheus_finds_the_metrics_where_its_configuration_looks(settings: Settings) -> None:
    [job] = yaml.safe_load(block(OPERATIONS, "scrape_configs"))["scrape_configs"]
    assert job.keys() <= {"job_name", "metrics_path", "static_configs"}
    [[target]] = [one["targets"] for one in job["static_configs"]]
    host, port = target.split(":")
    assert f"INTERNAL_PORT={port}" in text(OPERATIONS)
    internal = str(free_port())
    with (
        running(environment(settings, INTERNAL_PORT=internal)),
        # Without a `metrics_path` Prometheus asks for /metrics.
        urlopen(f"http://{host}:{internal}{job.get('metrics_path', '/metrics')}") as answer,
    ):
        assert b"tracker_" in answer.read()


def test_the_target_with_macros_is_filled() -> None:
    target = TargetTemplate(block(WEBHOOKS, "https://network.example").strip())
    texts = {
        "query.gclid": "a b&c",
        "payout": "1.25",
        "country|lower": "de",
        "conversion_timestamp_unix": "1767225600",
    }
    assert target.macros == texts.keys()
    filled = urlsplit(target.fill(texts))
    assert parse_qs(filled.query) == {
        "cid": ["a b&c"],
        "payout": ["1.25"],
        "geo": ["de"],
        "at": ["1767225600"],
    }


# No Docker, systemd or Heroku is where the tests run: their commands are held against the files
# that they use, and the Python in them is run.


def test_the_commands_of_compose_name_its_services_and_scripts(settings: Settings) -> None:
    start, *others = block(DEPLOY, "docker compose up").splitlines()
    services = yaml.safe_load((ROOT / "compose.yaml").read_text("utf-8"))["services"]
    up = ["docker", "compose", "up", "--detach", "--build"]
    assert start.split("#")[0].split() == up
    assert block(documents.README, "[ -e .env ]").splitlines()[-1].split("#")[0].split() == up
    assert any("build" in one for one in services.values())
    own = environment(settings)
    account_id = ""
    for line in others:
        words = line.split()
        assert words[:3] == ["docker", "compose", "exec"]
        assert words[3] in services
        command = line.partition(words[3] + " ")[2].replace("<ID>", account_id)
        [row] = json.loads(pasted(f"{command} --json", own))
        account_id = account_id or row["id"]


def test_the_commands_of_systemd_name_its_units_and_folders(tmp_path: Path) -> None:
    commands = block(DEPLOY, "useradd")
    units = {}
    for path in (ROOT / "ops/systemd").glob("*.service"):
        units[path.stem] = unit = configparser.RawConfigParser(strict=False)
        unit.optionxform = str  # type: ignore[assignment,method-assign]
        unit.read(path, "utf-8")
    folder = re.findall(r"--home-dir (\S+)", commands)[0]
    [environment_file] = re.findall(r"ops/systemd/tracker\.env (\S+)", commands)
    user = re.findall(r"useradd .* (\S+)\n", commands)[0]
    for unit in units.values():
        service = unit["Service"]
        assert service["User"] == user
        assert service["WorkingDirectory"] == folder
        assert service["EnvironmentFile"] == environment_file
        assert service["ExecStart"].startswith(f"{folder}/.venv/bin/python run.py --role ")
    enabled = commands.partition("enable --now ")[2].split()
    assert {one.split("@")[0] for one in enabled} == {name.rstrip("@") for name in units}
    sources = re.findall(r"ops/systemd/\S+", commands)
    assert sources
    assert all(list(ROOT.glob(one)) for one in sources)
    line = next(one for one in commands.splitlines() if "tracker.env" in one)
    copied = line.partition("#")[0].replace(environment_file, f"{tmp_path}/etc/tracker.env")
    pasted(copied, {})
    assert (tmp_path / "etc/tracker.env").stat().st_mode & 0o777 == 0o600


def test_the_commands_of_heroku_name_what_its_kit_has() -> None:
    commands = block(DEPLOY, "heroku create")
    kit = json.loads((ROOT / "app.json").read_text("utf-8"))
    assert re.findall(r"--stack (\S+)", commands) == [kit["stack"]]
    assert re.findall(r"addons:create (\S+)", commands) == [one["plan"] for one in kit["addons"]]
    assert set(re.findall(r"\b([A-Z][A-Z_]+)=", commands)) == kit["env"].keys()
    for name, value in ((name, one.get("value")) for name, one in kit["env"].items()):
        assert value is None or f"{name}={value}" in commands
    processes = dict(
        line.split(": ", 1) for line in (ROOT / "Procfile").read_text("utf-8").splitlines()
    )
    scaled = dict(one.split("=") for one in commands.partition("ps:scale ")[2].split())
    assert scaled.keys() == kit["formation"].keys() == processes.keys() - {"release"}
    assert all(int(scaled[name]) == one["quantity"] for name, one in kit["formation"].items())
