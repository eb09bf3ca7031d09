"""The table of attacks, and the processes of each: the attacker's own, and the ones it attacks.

`make abuse` starts `python -m lab.abuse.attacker NAME SECONDS`. It prints a line when it is ready,
and reads its `Target` from a line of standard input. Then it attacks, and prints its `Report` as a
line.
"""

import asyncio
import resource
import ssl
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractContextManager, asynccontextmanager, closing, nullcontext, suppress
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

import msgspec
import trustme
import uvloop
from msgspec import structs

from config.settings import Settings
from lab.abuse import attacks, deciding, receivers, sign_in
from lab.abuse.attack import ATTACKER_ADDRESS, Report, Target
from lab.abuse.held_body import held_body
from lab.abuse.removed_owner import removed_owner
from lab.abuse.weak_key import weak_key
from lab.log_pipe import LogPipe
from lab.process_usage import MAX_GROWTH_BYTES, MEGABYTE
from lab.processes import ROOT, NotReady, Process, Role, running, service_process

_READY: Final = "ready"

_KEPT_OF_REPORTS: Final = 50 * MEGABYTE
"""The first large reports leave about 30 MB, the next ones next to nothing: small objects of
visitors lie between what the reports have freed."""

_KEPT_OF_CLIENTS: Final = 50 * MEGABYTE
"""Unknown names of 20,000 clients leave 40 MB, whether they are slugs or paths."""

_EXTRA_SECONDS: Final = 40.0
"""The time beyond its duration that an attack may take for its last answers."""

_LINE_BYTES: Final = 1024 * 1024

Serving = Literal["web", "tls", "unread log", "public targets"]
"""The web process that an attack meets: `web` is the one that attacks share.

That of `public targets` refuses webhooks to this machine; the others allow them, because the
receivers of attacks run here.
"""


class Row(NamedTuple):
    """An attack: a function of the target and the duration in seconds."""

    name: str
    title: str
    attack: Callable[[Target, float], Awaitable[Report]]
    serving: Serving = "web"
    may_keep: int = MAX_GROWTH_BYTES
    """Bytes that the service may have more after it."""


ROWS: Final = (
    Row("none", "no attack", attacks.nothing),
    Row("nested-json", "1 MiB of nested JSON, long queries, forms", attacks.nested_json),
    Row("bodies", "60 bodies of 8 MiB that never end", attacks.unfinished_bodies),
    Row("names", "1,000 random slugs, hosts and keys a second", attacks.random_names),
    Row("paths", "1,000 unknown paths a second", attacks.unknown_paths, may_keep=_KEPT_OF_CLIENTS),
    Row("pages", "1,000 clicks a second of foreign pages", deciding.foreign_pages),
    Row("nobody", "conversions of clicks that never were", attacks.events_of_nobody),
    Row("forged", "conversions forged by a visitor", attacks.forged_conversions),
    Row("connections", "2,000 idle connections of one address", attacks.idle_connections),
    Row("handshakes", "2,000 TLS handshakes never begun", attacks.idle_handshakes, "tls"),
    Row("network", "API keys guessed from one IPv6 network", attacks.one_network),
    Row("neighbour", "a neighbour at sign-in uses up attempts", sign_in.neighbour_at_sign_in),
    Row("guessing", "guesses of a link's password", sign_in.guessed_passwords),
    Row("log", "a log that nobody reads", attacks.nothing, "unread log"),
    Row("resolver", "webhooks to names of a silent DNS", attacks.silent_names, "public targets"),
    Row("domains", "claims on other people's domains", attacks.claimed_domains),
    Row("loop", "a webhook to the service itself", receivers.webhook_loop),
    Row("removed-owner", "links of an owner who is removed", removed_owner),
    Row("weak-key", "weak keys that share, make or revoke more", weak_key),
    Row("held", "50 bodies held open by a key that is revoked", held_body),
    Row("reports", "50 crossed reports and overviews", attacks.crossed_reports),
    Row("values", "20 reports of many values", attacks.many_values, may_keep=_KEPT_OF_REPORTS),
    Row("queries", "20 rules of 10 conditions under long queries", deciding.long_queries),
    Row("previews", "a thousand fetchers of previews", deciding.previews),
    Row("trickle", "a receiver that answers byte by byte", receivers.trickling_receiver),
    Row("tools", "100 calls of tools for models a second", deciding.tool_calls),
    Row("gone", "a receiver that is gone", receivers.failing_receiver),
    Row("click-hooks", "1,000 own clicks a second, told to 5 webhooks", receivers.click_webhooks),
)


class Served(NamedTuple):
    """The web process that visitors use; entering `disturbed` is a part of the attack."""

    process: Process
    tls: ssl.SSLContext | None = None
    disturbed: Callable[[], AbstractContextManager[None]] = nullcontext


class Servers:
    """Web and drain, not started; `silent_dns` names a DNS server that never answers."""

    def __init__(
        self, folder: Path, stores: Settings, silent_dns: str, port: int, own_port: int
    ) -> None:
        self._folder = folder
        self._own_port = own_port
        self._settings = structs.replace(
            stores,
            # In development no limit holds for connections of this machine.
            env="production",
            allow_insecure=True,
            host="127.0.0.1",
            port=port,
            base_url=f"http://localhost:{port}",
            data_dir=str(folder / "service"),
            # The attacker may stand for many addresses.
            trusted_proxies=f"{ATTACKER_ADDRESS}/32",
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
        if kind == "web":
            yield Served(self.web)
        elif kind == "tls":
            async with self._running(kind, **self._certificate()) as process:
                yield Served(process, _trusting_context())
        elif kind == "public targets":
            async with self._running(kind, webhook_allow_private=False) as process:
                yield Served(process)
        else:
            # The pipe has the path of the log that the process will open.
            with closing(LogPipe(self._folder / f"{kind}.log")) as log:
                async with self._running(kind, access_log=1.0, log_level="info") as process:
                    yield Served(process, None, log.unread)

    def _certificate(self) -> dict[str, str]:
        certificate, key = self._folder / "certificate.pem", self._folder / "key.pem"
        issued = trustme.CA().issue_cert("localhost")
        certificate.write_bytes(b"".join(blob.bytes() for blob in issued.cert_chain_pems))
        key.write_bytes(issued.private_key_pem.bytes())
        return {"tls_cert": str(certificate), "tls_key": str(key)}

    @asynccontextmanager
    async def _running(self, name: str, **changes: Any) -> AsyncIterator[Process]:
        settings = structs.replace(self._settings, port=self._own_port, **changes)
        process = self._process(name, settings)
        async with running([process]):
            yield process
            await process.terminate()

    def _process(self, name: str, settings: Settings) -> Process:
        role: Role = "drain" if name == "drain" else "web"
        return service_process(self._folder, name, role, settings)


def _trusting_context() -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


@asynccontextmanager
async def attacker(
    row: Row, seconds: float, target: Target
) -> AsyncIterator[Callable[[], Awaitable[Report]]]:
    """Yield a function that attacks and returns the report, once the attacker is ready."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "lab.abuse.attacker", row.name, str(seconds)),
        cwd=ROOT,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        limit=_LINE_BYTES,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    stdin, stdout = process.stdin, process.stdout

    async def attack() -> Report:
        stdin.write(msgspec.json.encode(target) + b"\n")
        try:
            async with asyncio.timeout(seconds + _EXTRA_SECONDS):
                return msgspec.json.decode(await stdout.readline(), type=Report)
        except (TimeoutError, msgspec.DecodeError):
            return Report(findings=["the attack did not come to an end"])

    try:
        if (await stdout.readline()).decode().strip() != _READY:
            raise NotReady(f"the attacker of {row.name} did not start")
        yield attack
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()


async def _attack(name: str, target: Target, seconds: float) -> Report:
    [row] = [row for row in ROWS if row.name == name]
    try:
        return await row.attack(target, seconds)
    except Exception as error:
        return Report(findings=[f"the attack ended by {type(error).__name__}: {error}"])


def main(arguments: Sequence[str]) -> int:
    name, seconds = arguments
    _, limit = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
    print(_READY, flush=True)
    target = msgspec.json.decode(sys.stdin.readline(), type=Target)
    report = uvloop.run(_attack(name, target, float(seconds)))
    print(msgspec.json.encode(report).decode(), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
