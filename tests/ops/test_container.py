"""`Dockerfile`, `compose.yaml` and the other kits: their files, commands and variables exist.

No container is built here. What the Dockerfile copies is run as the Dockerfile says.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from urllib.request import urlopen

import msgspec
import pytest

from config.settings import Settings
from tests.paths import ROOT
from tests.ports import free_port
from tests.system.service import environment, running
from tests.waiting import PROCESS_PATIENCE_SECONDS
from tracker import __version__

DOCKERFILE = (ROOT / "Dockerfile").read_text("utf-8").replace("\\\n", "")
COMPOSE = (ROOT / "compose.yaml").read_text("utf-8")


def exec_form(instruction: str) -> list[str]:
    """Return the last command after `instruction` that is a JSON array, without its program."""
    found: list[str] = json.loads(re.findall(rf"{instruction} (\[.*\])", DOCKERFILE)[-1])
    assert found[0] == "python"
    return found[1:]


def dockerfile_variables() -> dict[str, str]:
    [line] = re.findall(r"^ENV (.*)$", DOCKERFILE, re.MULTILINE)
    variables = dict(pair.split("=", 1) for pair in line.split())
    del variables["PATH"]
    return variables


def healthcheck(port: str) -> int:
    """Return the exit code of the health check, with `port` in place of the container's."""
    command = [part.replace(":9000/", f":{port}/") for part in exec_form("HEALTHCHECK.* CMD")]
    return subprocess.run([sys.executable, *command], stderr=subprocess.DEVNULL).returncode


def test_what_the_image_has_is_a_service_that_its_health_check_finds_alive(
    settings: Settings, tmp_path: Path
) -> None:
    for source, target in re.findall(r"^COPY (\w\S*) (\S+)$", DOCKERFILE, re.MULTILINE)[1:]:
        copy = shutil.copytree if (ROOT / source).is_dir() else shutil.copy
        copy(ROOT / source, tmp_path / target.replace("./", source))
    port, internal = free_port(), str(free_port())
    own = {"PORT": str(port), "INTERNAL_PORT": internal, "HOST": "127.0.0.1"}
    own |= {"DATA_DIR": settings.data_dir, "BASE_URL": f"http://localhost:{port}"}
    own["ALLOW_INSECURE"] = "true"
    variables = environment(settings) | dockerfile_variables() | own
    script, *arguments = exec_form("\nCMD")
    with running(variables, *arguments, program=(str(tmp_path / script),)) as service:
        assert healthcheck(internal) == 0
        with urlopen(
            f"http://127.0.0.1:{internal}/healthz", timeout=PROCESS_PATIENCE_SECONDS
        ) as answer:
            assert json.load(answer)["version"] == __version__
        assert service.stop() == 0
    assert healthcheck(internal) == 1


def names_of(kit: str) -> set[str]:
    """Return the variables that a kit sets for the service."""
    if kit == "Dockerfile":
        return set(dockerfile_variables()) - {"PYTHONDONTWRITEBYTECODE"}
    if kit == "compose.yaml":
        shared = COMPOSE.partition("environment: &environment")[2].partition("depends_on")[0]
        return set(re.findall(r"^    (\w+):", shared, re.MULTILINE))
    if kit == "app.json":
        return set(json.loads((ROOT / kit).read_text("utf-8"))["env"])
    return set(re.findall(r"^#?([A-Z_]+)=", (ROOT / kit).read_text("utf-8"), re.MULTILINE))


@pytest.mark.parametrize(
    "kit", ["Dockerfile", "compose.yaml", "app.json", "ops/systemd/tracker.env"]
)
def test_a_kit_sets_variables_that_exist(kit: str) -> None:
    names = names_of(kit)
    assert names
    assert names <= {field.encode_name for field in msgspec.structs.fields(Settings)}


def test_compose_starts_every_role_on_stores_as_the_service_advises() -> None:
    assert re.findall(r'"run.py", "--role", "(\w+)"', COMPOSE) == ["web", "drain"]
    for advice in ("--appendonly yes", "--appendfsync always", "--maxmemory-policy noeviction"):
        assert advice in COMPOSE
    assert "--replSet rs0" in COMPOSE and "replicaSet=rs0" in COMPOSE


def test_every_kit_names_the_python_that_the_tests_of_a_push_run_on() -> None:
    version = (ROOT / ".python-version").read_text("ascii").strip()
    workflow = (ROOT / ".github" / "workflows" / "check.yml").read_text("utf-8")
    assert f'python-version: "{version}"' in workflow
    assert set(re.findall(r"FROM python:([\d.]+)", DOCKERFILE)) == {version}


@pytest.mark.parametrize(
    ("url", "dyno", "expected"),
    [
        ("rediss://:p@ec2-3-1-2-3.compute-1.amazonaws.com:6380", "web.1", "?ssl_cert_reqs=none"),
        ("rediss://:p@ec2-3-1-2-3.compute-1.amazonaws.com:6380", "", ""),
        ("rediss://:p@ec2-3.compute-1.amazonaws.com:6380/0?ssl_ca_certs=a", "web.1", ""),
        ("redis://:p@ec2-3-1-2-3.compute-1.amazonaws.com:6379", "web.1", ""),
    ],
)
def test_the_profile_accepts_the_certificate_of_the_redis_add_on_alone(
    url: str, dyno: str, expected: str
) -> None:
    shown = subprocess.run(
        ["bash", "-euc", '. ./.profile; echo "$REDIS_URL"'],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], "REDIS_URL": url, "DYNO": dyno},
        capture_output=True,
        text=True,
        check=True,
    )
    assert shown.stdout.strip() == url + expected
