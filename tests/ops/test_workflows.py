"""The workflows: no rights but to read, pinned actions, and the stores that the guide names."""

import os
import re
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]

from tests.documents import OPERATIONS, table
from tests.paths import ROOT
from tracker.stores.builtin import binaries

FILES = sorted((ROOT / ".github/workflows").glob("*.yml"))
TEXTS = [file.read_text("utf-8") for file in FILES]
SERVERS = {"redis": "Redis", "valkey/valkey": "Valkey", "mongo": "MongoDB"}


def workflow(name: str) -> dict[str, Any]:
    parsed: dict[str, Any] = yaml.safe_load((ROOT / ".github/workflows" / name).read_text("utf-8"))
    return parsed


def commands(job: dict[str, Any]) -> list[str]:
    return [step["run"] for step in job["steps"] if "run" in step]


def versions(server: str, column: int) -> list[str]:
    [found] = [row[column] for row in table(OPERATIONS, "server") if row[0] == server]
    return re.findall(r"[\d.]+", found)


def is_among(release: str, versions: list[str]) -> bool:
    return any(f"{one}.".startswith(f"{release}.") for one in versions)


@pytest.mark.parametrize("text", TEXTS, ids=[file.name for file in FILES])
def test_a_workflow_may_read_and_nothing_else(text: str) -> None:
    parsed = yaml.safe_load(text)
    assert parsed["permissions"] == {"contents": "read"}
    for job in parsed["jobs"].values():
        assert "permissions" not in job
        assert 0 < job["timeout-minutes"] <= 90
        [checkout] = [one for one in job["steps"] if "actions/checkout" in one.get("uses", "")]
        assert checkout["with"] == {"persist-credentials": False}
    assert "secrets" not in text
    assert "pull_request_target" not in text


@pytest.mark.parametrize("text", TEXTS, ids=[file.name for file in FILES])
def test_every_action_is_named_by_commit_with_its_version(text: str) -> None:
    used = re.findall(r"uses: (.+)", text)
    assert used
    pinned = re.compile(r"actions/[a-z-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+")
    assert [one for one in used if not pinned.fullmatch(one)] == []


def test_the_check_is_the_script_that_everybody_runs() -> None:
    assert commands(workflow("check.yml")["jobs"]["check"]) == [".ci/run"]
    assert os.access(ROOT / ".ci/run", os.X_OK)


def test_the_guide_names_every_store_of_the_workflow() -> None:
    jobs = workflow("stores.yml")["jobs"].values()
    for image in [
        one for job in jobs if "strategy" in job for one in job["strategy"]["matrix"]["image"]
    ]:
        name, release = image.split(":")
        known = versions(SERVERS[name], 1) + versions(SERVERS[name], 2)
        assert is_among(release, known), image


def test_the_workflow_gives_options_and_paths_that_exist() -> None:
    shown = [one for job in workflow("stores.yml")["jobs"].values() for one in commands(job)]
    runs = [one for one in shown if "pytest" in one]
    assert [re.findall(r"--\w+", one) for one in runs] == [["--redis"], ["--mongodb"], []]
    named = [one for run in runs for one in re.findall(r" (tests/\S+)", run)]
    assert named
    assert [one for one in named if not (ROOT / one).exists()] == []


def test_one_job_names_a_program_for_each_that_the_project_brings() -> None:
    named = workflow("stores.yml")["jobs"]["programs"]["env"]
    assert named.keys() == {binaries.REDIS_SERVER, binaries.MONGOD, "CHROMIUM"}
