"""Processes of a run are started, killed, started again, and seen to end."""

import sys
from pathlib import Path

from lab.processes import Process
from tracker.stores.builtin.child import Program


def process_of(code: str, folder: Path) -> Process:
    """Return a process that runs `code` with its port as argument and logs its output."""

    def command(port: int) -> list[str]:
        return [sys.executable, "-u", "-c", code, str(port)]

    log = folder / "log"
    return Process(Program("one", log, {}, command, lambda port, pid: bool(log.stat().st_size)), 77)


async def test_a_process_that_ends_by_itself_is_noted_and_started_again(tmp_path: Path) -> None:
    process = process_of("import sys; sys.exit('no # such thing')", tmp_path)
    process.start()
    try:
        while not process.ended_by_itself:
            await process.ready()
            process.restart_if_ended()
    finally:
        process.end()
    assert process.ended_by_itself[0] == "one ended with status 1: such thing"
