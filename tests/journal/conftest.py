"""The folder, files and log of a spool."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog

from tests.journal.spooling import Logs
from tests.stores.redis.own_redis import OwnRedis, own_redis
from tracker.journal import spool as module
from tracker.journal import spool_file

PROJECT = Path(__file__).parents[2]
HOLDER = """
import asyncio, sys
from pathlib import Path
from tracker.journal.spool import Spool

async def main():
    spool = Spool(Path(sys.argv[1]), 1024**3)
    await spool.append(b"from a child")
    print("ready", flush=True)
    sys.stdin.read()

asyncio.run(main())
"""


@pytest.fixture
def logs(monkeypatch: pytest.MonkeyPatch) -> Iterator[Logs]:
    """Return the records of the log; the module's own logger may be cached already."""
    with structlog.testing.capture_logs() as captured:
        monkeypatch.setattr(module, "log", structlog.get_logger())
        yield captured


@pytest.fixture
def server(tmp_path: Path) -> Iterator[OwnRedis]:
    with own_redis(tmp_path) as running:
        yield running


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "made" / "when needed"


@pytest.fixture
def one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make every entry a batch of its own."""
    monkeypatch.setattr(spool_file, "BATCH_ENTRIES", 1)


@pytest.fixture
def small_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make every file end with its second entry of one byte."""
    monkeypatch.setattr(module, "FILE_BYTES", 2)
    monkeypatch.setattr(module, "MOST_FILES", 1024**3)


@pytest.fixture
def child(folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Another process that has appended to a file of its own and lives."""
    command = [sys.executable, "-c", HOLDER, str(folder)]
    with subprocess.Popen(
        command, cwd=PROJECT, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        yield process
        process.kill()
