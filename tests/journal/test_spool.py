"""An append is on disk when it returns, and a disk or process that fails loses no other."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tornado.platform.asyncio import AsyncIOLoop

from tests.journal.spooling import Sink, opened, replayed, spooled

PROJECT = Path(__file__).parents[2]

LIMITED = """
import asyncio, resource, sys
from pathlib import Path
from tracker.journal.spool import Spool

async def main():
    spool = Spool(Path(sys.argv[1]), 10_000)
    await spool.append(b"first")
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, limit[1]))
    try:
        await spool.append(b"x" * 1000)
    except OSError as error:
        print(type(error).__name__, flush=True)
    resource.setrlimit(resource.RLIMIT_FSIZE, limit)
    await spool.append(b"later")
    await spool.close()

asyncio.run(main())
"""


async def test_appended_payloads_are_replayed_once_in_order(folder: Path) -> None:
    sink, payloads = Sink(), [b"a", b"", b"c" * 1_000_000]
    async with opened(folder) as spool:
        assert await spool.is_empty()
        for payload in payloads:
            await spool.append(payload)
        assert not await spool.is_empty()
        assert await spool.replay(sink.send) == 3
        assert sink.taken == payloads
        assert await spool.is_empty()
        assert await spool.replay(sink.send) == 0
    assert list(folder.iterdir()) == []


async def test_an_append_that_returned_is_in_a_file_that_nobody_else_may_read(folder: Path) -> None:
    async with opened(folder) as spool:
        await spool.append(b"payload")
        (path,) = folder.iterdir()
        assert path.read_bytes().endswith(b"payload")
        assert folder.stat().st_mode & 0o077 == 0


@settings(max_examples=50)
@given(payloads=st.lists(st.binary(max_size=300), max_size=10))
def test_any_payload_comes_back_as_it_went(
    io_loop: AsyncIOLoop, tmp_path_factory: pytest.TempPathFactory, payloads: list[bytes]
) -> None:
    folder = tmp_path_factory.mktemp("spool")
    tricky = [b"TRK1" + payload for payload in payloads]

    async def there_and_back() -> list[bytes]:
        await spooled(folder, [*payloads, *tricky, b"last"])
        return await replayed(folder)

    assert io_loop.run_sync(there_and_back) == [*payloads, *tricky, b"last"]


async def test_simultaneous_appends_keep_their_order(folder: Path) -> None:
    payloads = [b"%d" % number for number in range(100)]
    async with opened(folder) as spool:
        await asyncio.gather(*map(spool.append, payloads))
    assert await replayed(folder) == payloads


async def test_the_file_of_another_process_is_replayed_only_after_it_died(
    folder: Path, child: subprocess.Popen[bytes]
) -> None:
    await spooled(folder, [b"ours"])
    assert await replayed(folder) == [b"ours"]
    assert len(list(folder.glob("*.spool"))) == 1
    child.send_signal(signal.SIGKILL)
    child.wait()
    assert await replayed(folder) == [b"from a child"]


async def test_our_own_file_is_left_alone_by_another_spool(folder: Path) -> None:
    async with opened(folder) as spool:
        await spool.append(b"held")
        assert await replayed(folder) == []
        await spool.append(b"held too")
    assert await replayed(folder) == [b"held", b"held too"]


async def test_a_disk_that_refuses_an_entry_loses_none_of_the_others(folder: Path) -> None:
    command = [sys.executable, "-c", LIMITED, str(folder)]
    child = subprocess.run(command, cwd=PROJECT, capture_output=True, check=True)
    assert child.stdout == b"OSError\n"
    assert len(list(folder.glob("*.spool"))) == 1
    assert await replayed(folder) == [b"first", b"later"]


async def test_a_folder_that_cannot_be_made_is_an_error_until_it_can(tmp_path: Path) -> None:
    blocker = tmp_path / "blocker"
    blocker.write_text("a file")
    async with opened(blocker / "spool") as spool:
        for _ in range(2):
            with pytest.raises(OSError, match="Not a directory"):
                await spool.append(b"refused")
        assert await spool.is_empty()
        blocker.unlink()
        await spool.append(b"taken")
    assert await replayed(blocker / "spool") == [b"taken"]


@pytest.mark.parametrize("call", ["fsync", "fdatasync"])
async def test_a_disk_that_does_not_flush_is_an_error_until_it_does(
    folder: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    flush: Callable[[int], None] = getattr(os, call)
    failing = [OSError("no")]

    def fail_once(descriptor: int) -> None:
        if failing:
            raise failing.pop()
        flush(descriptor)

    monkeypatch.setattr(os, call, fail_once)
    async with opened(folder) as spool:
        with pytest.raises(OSError, match="no"):
            await spool.append(b"refused")
        await spool.append(b"taken")
    assert (await replayed(folder))[-1:] == [b"taken"]


async def test_a_descriptor_that_broke_is_an_error_once(folder: Path) -> None:
    async with opened(folder) as spool:
        await spool.append(b"1")
        assert spool._file is not None
        os.close(spool._file._file.fileno())
        with pytest.raises(OSError):
            await spool.append(b"refused")
        await spool.append(b"2")
    assert await replayed(folder) == [b"1", b"2"]
