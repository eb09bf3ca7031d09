"""`compose.yaml`: networks, passwords and limits, and its commands on real stores.

There is no container here: the steps of the image's entrypoint are taken one by one.
"""

import os
import re
import shlex
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import redis
import yaml  # type: ignore[import-untyped]
from pymongo import MongoClient
from pymongo.errors import OperationFailure, PyMongoError

from config import secret_key
from tests.documents import DEPLOY, README, block
from tests.paths import ROOT
from tests.ports import free_port
from tests.waiting import PROCESS_PATIENCE_SECONDS, until
from tracker.stores.builtin import binaries

TEXT = (ROOT / "compose.yaml").read_text("utf-8")
SERVICES: dict[str, Any] = yaml.safe_load(TEXT)["services"]
NETWORKS: dict[str, Any] = yaml.safe_load(TEXT)["networks"]
PASSWORD = "0123456789abcdef"


def expanded(text: str) -> str:
    """Return a text of the file as a container gets it."""
    with_passwords = re.sub(r"\$\{\w+_PASSWORD:\?[^}]*\}", PASSWORD, text)
    return with_passwords.replace("$$", "$")


def networks(service: str) -> set[str]:
    return set(SERVICES[service]["networks"])


def test_no_store_shares_a_network_with_the_way_in_or_reaches_the_outside() -> None:
    assert networks("valkey") == networks("mongodb") == {"stores"}
    assert NETWORKS["stores"] == {"internal": True}
    assert not networks("caddy") & networks("mongodb")
    assert networks("web") >= {"stores"} | networks("caddy")
    assert networks("worker") - networks("caddy") == {"stores", "outside"}
    assert [name for name, one in SERVICES.items() if "ports" in one] == ["caddy"]


def test_nothing_starts_without_its_secrets_which_the_guide_names() -> None:
    required = set(re.findall(r"\$\{(\w+):\?", TEXT))
    assert required == {"SECRET_KEY", "REDIS_PASSWORD", "MONGODB_PASSWORD"}
    for name in required:
        assert set(re.findall(rf"\$\{{{name}(.)", TEXT)) == {":"}
        assert f"${{{name}:-" not in TEXT
    shown = dict(line.split("=", 1) for line in block(DEPLOY, "BASE_URL=").splitlines())
    assert required < shown.keys() <= set(re.findall(r"\$\{(\w+)", TEXT))
    for name in required:
        command = shown[name].removeprefix("<").removesuffix(">").split()
        made = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
        assert len(made) >= 32
        assert name != "SECRET_KEY" or secret_key.keys_of(made)


def test_the_first_command_of_the_readme_makes_the_secrets_and_keeps_them(tmp_path: Path) -> None:
    command = block(README, "[ -e .env ]").partition("\n\n")[0]
    made = []
    for _ in range(2):
        subprocess.run(
            ["sh", "-ec", command], cwd=tmp_path, check=True, timeout=PROCESS_PATIENCE_SECONDS
        )
        made.append((tmp_path / ".env").read_text("ascii"))
    assert made[0] == made[1]
    assert (tmp_path / ".env").stat().st_mode & 0o077 == 0
    values = dict(line.split("=", 1) for line in made[0].splitlines())
    assert values.keys() == set(re.findall(r"\$\{(\w+):\?", TEXT))
    assert secret_key.keys_of(values["SECRET_KEY"])
    assert ".env" in (ROOT / ".gitignore").read_text("ascii").splitlines()


def test_the_service_has_the_passwords_of_its_stores_and_limits_of_memory() -> None:
    variables = SERVICES["web"]["environment"]
    assert expanded(variables["REDIS_URL"]) == f"redis://:{PASSWORD}@valkey:6379/0"
    uri = expanded(variables["MONGODB_URI"])
    assert f"tracker:{PASSWORD}@mongodb:" in uri and "authSource=admin" in uri
    for name in ("web", "worker"):
        assert re.fullmatch(r"\$\{\w+_MEMORY:-\d+[mg]\}", SERVICES[name]["mem_limit"])


def test_no_command_that_docker_or_a_shell_expands_has_a_secret() -> None:
    for service in SERVICES.values():
        commands = [service.get(name) for name in ("entrypoint", "command", "healthcheck")]
        assert re.findall(r"\$\{?\w*(?:PASSWORD|KEY)", str(commands)) == []


@contextmanager
def process(command: Sequence[str], variables: Mapping[str, str] | None = None) -> Iterator[None]:
    with subprocess.Popen(command, env=variables, stdout=subprocess.DEVNULL) as running:
        try:
            yield
        finally:
            running.terminate()
            running.wait(PROCESS_PATIENCE_SECONDS)


def test_redis_takes_nobody_without_the_password_which_no_command_line_shows(
    tmp_path: Path,
) -> None:
    port = free_port()
    shell, options, script = SERVICES["valkey"]["command"]
    variables = {**os.environ, "REDISCLI_AUTH": PASSWORD}
    own = f"{binaries.redis_server()} --port {port} --bind 127.0.0.1 --dir {tmp_path}"
    script = expanded(script).replace("docker-entrypoint.sh valkey-server", own)
    line = subprocess.check_output(
        [shell, options, script.replace("exec", "exec echo")], env=variables, text=True
    )
    assert line.endswith(" -\n")
    assert PASSWORD not in line
    with (
        process([shell, options, script], variables),
        redis.Redis(port=port) as stranger,
        redis.Redis(port=port, password=PASSWORD, decode_responses=True) as known,
    ):
        until(lambda: answers(known))
        with pytest.raises(redis.AuthenticationError):
            stranger.ping()
        assert known.config_get("appendfsync") == {"appendfsync": "always"}


def answers(client: redis.Redis) -> bool:
    try:
        return bool(client.ping())
    except redis.ConnectionError:
        return False


def client(port: int, **options: Any) -> MongoClient[dict[str, Any]]:
    return MongoClient("127.0.0.1", port, directConnection=True, **options)


def is_up(port: int) -> bool:
    with client(port, serverSelectionTimeoutMS=200) as mongodb:
        try:
            mongodb.admin.command("ping")
        except PyMongoError:
            return False
        return True


def make_key(key: Path) -> None:
    """Run what the entrypoint does before that of the image, without the change of owner."""
    shell, options, script, name = SERVICES["mongodb"]["entrypoint"]
    script = expanded(script).replace("/etc/mongodb.key", str(key))
    script = re.sub(r"chown mongodb \S+;", "", script).replace("docker-entrypoint.sh", "echo")
    done = subprocess.run(
        [shell, options, script, name, "mongod", "--replSet"], capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (0, "mongod --replSet\n"), done.stderr
    assert key.stat().st_mode & 0o777 == 0o400


def test_mongodb_takes_nobody_without_the_password_and_becomes_a_primary(tmp_path: Path) -> None:
    """The image makes the user on a mongod without a set, and restarts it with --auth."""
    key, port, server = tmp_path / "key", free_port(), binaries.mongod()
    variables = {**os.environ, **binaries.mongod_environment(server, tmp_path / "libraries")}
    own = ["--port", str(port), "--dbpath", str(tmp_path), "--nounixsocket"]
    _, *options = shlex.split(SERVICES["mongodb"]["command"].replace("/etc/mongodb.key", str(key)))
    options.remove("--bind_ip_all")
    user = SERVICES["mongodb"]["environment"]["MONGO_INITDB_ROOT_USERNAME"]
    with process([str(server), *own], variables):
        until(lambda: is_up(port))
        with client(port) as mongodb:
            mongodb.admin.command("createUser", user, pwd=PASSWORD, roles=["root"])
    for start in range(2):
        make_key(key)
        with (
            process([str(server), *options, *own, "--auth"], variables),
            client(port, username=user, password=PASSWORD) as known,
            client(port) as stranger,
        ):
            until(lambda: is_up(port))
            if not start:
                member = {"_id": 0, "host": f"127.0.0.1:{port}"}
                known.admin.command("replSetInitiate", {"_id": "rs0", "members": [member]})
            until(lambda: bool(known.admin.command("hello")["isWritablePrimary"]))
            known["tracker"]["clicks"].insert_one({})
            with pytest.raises(OperationFailure):
                stranger["tracker"]["clicks"].find_one()
