"""A small DNS server on loopback, over UDP, with chosen records and failures."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator
from queue import Queue
from threading import Thread
from typing import Any

import dns.message
import dns.name
import dns.rcode
import dns.rdataclass
import dns.rdatatype
import dns.rrset

from tests.waiting import PROCESS_PATIENCE_SECONDS

_TTL = 60


class DnsServer(asyncio.DatagramProtocol):
    """A DNS server. Names have no final dot; a name without records does not exist."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []
        self.silent: set[str] = set()
        self.lost = 0
        """How many of the next questions get no answer."""
        self._failing: dict[str, dns.rcode.Rcode] = {}
        self._records: dict[tuple[str, str], list[str]] = {}
        self._turns: dict[tuple[str, str], list[str]] = {}

    def has(self, name: str, kind: str, *values: str) -> None:
        """Give `name` the records `values`, written as in a zone file."""
        self._records[name, kind] = list(values)

    def turns(self, name: str, kind: str, *values: str) -> None:
        """Give `name` each of `values` for one uncached answer, and the last for all others."""
        self._turns[name, kind] = list(values)
        self.has(name, kind)

    def fails(self, name: str, code: str) -> None:
        """Answer questions for `name` with `code`, such as SERVFAIL."""
        self._failing[name] = dns.rcode.from_text(code)

    def works_again(self, name: str) -> None:
        """Answer questions for `name` after failures or silence."""
        self._failing.pop(name, None)
        self.silent.discard(name)

    def connection_made(self, transport: Any) -> None:
        self._transport = transport

    @property
    def address(self) -> str:
        host, port = self._transport.get_extra_info("sockname")
        return f"{host}:{port}"

    def datagram_received(self, data: bytes, address: tuple[str | Any, int]) -> None:
        query = dns.message.from_wire(data)
        [question] = query.question
        name = question.name.to_text(omit_final_dot=True).lower()
        self.asked.append((name, dns.rdatatype.to_text(question.rdtype)))
        if self.lost:
            self.lost -= 1
        elif name not in self.silent:
            self._transport.sendto(self._response(query, name).to_wire(), address)

    def _response(self, query: dns.message.Message, name: str) -> dns.message.Message:
        response = dns.message.make_response(query)
        kind = dns.rdatatype.to_text(query.question[0].rdtype)
        known = {known for known, _ in self._records}
        response.set_rcode(
            self._failing.get(name, dns.rcode.NOERROR if name in known else dns.rcode.NXDOMAIN)
        )
        while kind != "CNAME" and (name, "CNAME") in self._records:
            [target] = self._add(response, name, "CNAME")
            name = target.removesuffix(".")
        self._add(response, name, kind)
        return response

    def _add(self, response: dns.message.Message, name: str, kind: str) -> list[str]:
        ttl, values = _TTL, self._records.get((name, kind), [])
        if turns := self._turns.get((name, kind)):
            ttl, values = 0, [turns.pop(0) if len(turns) > 1 else turns[0]]
        if values:
            owner = dns.name.from_text(name)
            response.answer.append(dns.rrset.from_text(owner, ttl, "IN", kind, *values))
        return values


@contextlib.asynccontextmanager
async def running() -> AsyncIterator[DnsServer]:
    transport, server = await asyncio.get_running_loop().create_datagram_endpoint(
        DnsServer, ("127.0.0.1", 0)
    )
    try:
        yield server
    finally:
        transport.close()


@contextlib.contextmanager
def in_a_thread() -> Iterator[DnsServer]:
    """Run a server in a thread, for tests without a loop. Give it records before it is asked."""
    started = Queue[tuple[DnsServer, asyncio.AbstractEventLoop, asyncio.Event]]()

    async def serve() -> None:
        end = asyncio.Event()
        async with running() as server:
            started.put((server, asyncio.get_running_loop(), end))
            await end.wait()

    thread = Thread(target=asyncio.run, args=(serve(),), daemon=True)
    thread.start()
    server, loop, end = started.get(timeout=PROCESS_PATIENCE_SECONDS)
    try:
        yield server
    finally:
        loop.call_soon_threadsafe(end.set)
        thread.join(10)
