"""A sentinel that runs on this machine."""

from contextlib import suppress
from pathlib import Path
from typing import Final

from redis import RedisError

from lab.processes import Process
from lab.redis_cluster import client_of
from tracker.stores.builtin.servers import redis_program

SERVICE: Final = "primary"
"""The name under which sentinels know the servers."""


def sentinel(
    folder: Path, port: int, primary: int, quorum: int, down_ms: int, failover_ms: int
) -> Process:
    """Return a sentinel, not started; a server that is silent for `down_ms` counts as dead."""
    folder.mkdir()
    program = redis_program(folder)
    settings = folder / "sentinel.conf"
    settings.write_text(
        f'bind 127.0.0.1\nport {port}\ndir "{folder}"\n'
        f"sentinel monitor {SERVICE} 127.0.0.1 {primary} {quorum}\n"
        f"sentinel down-after-milliseconds {SERVICE} {down_ms}\n"
        f"sentinel failover-timeout {SERVICE} {failover_ms}\n"
    )

    def is_ready(port: int, pid: int) -> bool:
        with suppress(RedisError), client_of(port) as client:
            return bool(client.ping())
        return False

    command = [program.command(port)[0], str(settings), "--sentinel"]
    named = program._replace(name=folder.name, command=lambda _: command, is_ready=is_ready)
    return Process(named, port)
