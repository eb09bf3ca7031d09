"""An attack from inside: an owner who is removed comes back by links that they made before."""

import re
import secrets
from itertools import cycle
from typing import Any, Final, NamedTuple

import orjson

from lab.abuse.attack import PASSWORD, Report, Target, barrage, from_console, from_new_address, made
from lab.processes import NotReady
from lab.requests import ask

_RATE: Final = 20
_COOKIE: Final = re.compile(rb"\r\nset-cookie: ([^;\r]+)", re.IGNORECASE)


class _Person(NamedTuple):
    """A member in a browser of their own."""

    port: int
    cookie: str

    async def send(self, method: str, path: str, fields: dict[str, str] | None = None) -> Any:
        request = from_console(self.port, method, path, fields or {}, {"Cookie": self.cookie})
        return _decoded(await ask(self.port, request))


async def removed_owner(target: Target, seconds: float) -> Report:
    """Make an invitation and a password reset as an owner whom another one then removes; use both
    links for as long as visitors click."""
    links = cycle(await _tokens_of_removed_owner(target))

    def use() -> bytes:
        fields = {"token": next(links), "name": "Eve", "password": PASSWORD}
        return from_console(target.port, "POST", "/api/join", fields, from_new_address())

    return await barrage(target.port, use, _RATE, seconds, {"404"})


async def _tokens_of_removed_owner(target: Target) -> list[str]:
    """Return the tokens of the two links, once their maker is no longer a member."""
    owner, other, viewer = [await _join(target, role) for role in ("owner", "owner", "viewer")]
    body = {"accountId": target.attacker.account_id, "email": _email(), "role": "owner"}
    path = f"/api/members/{await _member_id(target, viewer)}/password-reset"
    links = [await owner.send("POST", "/api/invitations", body), await owner.send("POST", path)]
    await other.send("DELETE", f"/api/members/{await _member_id(target, owner)}")
    return [one["url"].partition("#")[2] for one in links]


async def _join(target: Target, role: str) -> _Person:
    body = {"accountId": target.attacker.account_id, "email": _email(), "role": role}
    invited = await made(target.port, target.attacker.key, "/api/invitations", body)
    fields = {"token": invited["url"].partition("#")[2], "name": "Ada", "password": PASSWORD}
    answer = await ask(target.port, from_console(target.port, "POST", "/api/join", fields))
    _decoded(answer)
    cookie = _COOKIE.search(answer)
    if cookie is None:
        raise NotReady("joining sets no cookie")
    return _Person(target.port, cookie[1].decode())


async def _member_id(target: Target, person: _Person) -> str:
    person_id = (await person.send("GET", "/api/session"))["person"]["id"]
    listed = await person.send("GET", f"/api/members?accountId={target.attacker.account_id}")
    [found] = [row["id"] for row in listed["rows"] if row["person_id"] == person_id]
    return str(found)


def _email() -> str:
    return f"{secrets.token_hex(8)}@attacker.example"


def _decoded(answer: bytes) -> Any:
    if not answer.startswith(b"HTTP/1.1 200"):
        raise NotReady(answer.partition(b"\r")[0].decode() or "no answer")
    return orjson.loads(answer.partition(b"\r\n\r\n")[2])
