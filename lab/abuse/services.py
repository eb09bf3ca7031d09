"""The processes under attack: web and drain as in the Procfile, and others for one attack."""

import asyncio
import os
import ssl
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager, suppress
from contextlib import nullcontext as undisturbed
from pathlib import Path
from typing import Final, NamedTuple

import trustme
from msgspec import structs

from config.settings import Settings
from lab.abuse.attack import ADDRESS
from lab.abuse.attacker import Serving
from lab.processes import Process, Role, running, service_process

_READ_BYTES: Final = 65_536


class Served(NamedTuple):
    """The web process that visitors use; entering `disturbed` is a part of the attack."""

    process: Process
    tls: ssl.SSLContext | None = None
    disturbed: Callable[[], AbstractContextManager[None]] = undisturbed


class Servers:
    """Web and drain, not started, with their logs in `folder`.

    `stores` says where the stores are, and `silent_dns` names a DNS server that never answers.
    `own_port` is for single attacks.
    """

    def __init__(
        self, folder: Path, stores: Settings, silent_dns: str, port: int, own_port: int
    ) -> None:
        self._folder = folder
        self._own_port = own_port
        self._settings = structs.replace(
            stores,
            # In development no limit holds for connections of this machine.
            env="production",
            host="127.0.0.1",
            port=port,
            base_url=f"http://localhost:{port}",
            data_dir=str(folder / "service"),
            # The attacker may stand for many addresses.
            trusted_proxies=f"{ADDRESS}/32",
            dns_resolver=silent_dns,
            webhook_allow_private=True,
            webhook_allow_http=True,
            access_log=0.0,
            log_level="warning",
        )
        self.web = self._process("web", self._settings)
        self.drain = self._process("drain", self._settings)

    @asynccontextmanager
    async def serving(self, kind: Serving) -> AsyncIterator[Served]:
        """Yield what an attack of this kind meets."""
        if kind == "web":
            yield Served(self.web)
        elif kind == "tls":
            async with self._running("tls", self._with_certificate()) as process:
                yield Served(process, _trusting_context())
        elif kind == "public targets":
            settings = structs.replace(
                self._settings, port=self._own_port, webhook_allow_private=False
            )
            async with self._running("public", settings) as process:
                yield Served(process)
        else:
            settings = structs.replace(
                self._settings, port=self._own_port, access_log=1.0, log_level="info"
            )
            # The pipe has the path of the log that the process will open.
            with _log(self._folder / "unread.log") as log:
                async with self._running("unread", settings) as process:
                    yield Served(process, None, log.unread)

    def _with_certificate(self) -> Settings:
        certificate, key = self._folder / "certificate.pem", self._folder / "key.pem"
        issued = trustme.CA().issue_cert("localhost")
        certificate.write_bytes(b"".join(blob.bytes() for blob in issued.cert_chain_pems))
        key.write_bytes(issued.private_key_pem.bytes())
        return structs.replace(
            self._settings, port=self._own_port, tls_cert=str(certificate), tls_key=str(key)
        )

    @asynccontextmanager
    async def _running(self, name: str, settings: Settings) -> AsyncIterator[Process]:
        process = self._process(name, settings)
        async with running([process]):
            yield process
            await process.leave()

    def _process(self, name: str, settings: Settings) -> Process:
        role: Role = "drain" if name == "drain" else "web"
        return service_process(self._folder, name, role, settings)


def _trusting_context() -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


@contextmanager
def _log(path: Path) -> "Iterator[_Log]":
    log = _Log(path)
    try:
        yield log
    finally:
        log.close()


class _Log:
    """A named pipe that a process logs to, read unless that is paused. Linux."""

    def __init__(self, path: Path) -> None:
        os.mkfifo(path)
        # Open it for writing too, so that the process can open it at any time.
        self._pipe = os.open(path, os.O_RDWR | os.O_NONBLOCK)
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self._pipe, self._read)

    @contextmanager
    def unread(self) -> Iterator[None]:
        """Leave the pipe unread while the context is open."""
        self._loop.remove_reader(self._pipe)
        try:
            yield
        finally:
            self._loop.add_reader(self._pipe, self._read)

    def close(self) -> None:
        """Stop reading and close the pipe."""
        self._loop.remove_reader(self._pipe)
        os.close(self._pipe)

    def _read(self) -> None:
        with suppress(BlockingIOError):
            os.read(self._pipe, _READ_BYTES)
