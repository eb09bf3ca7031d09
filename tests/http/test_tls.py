"""TLS, with certificates that are reloaded while the server runs."""

import ssl
from pathlib import Path

import pytest
import trustme

from tests.http.certificates import APPLICATION, issue, trusting
from tests.http.serving import client_of, get, post, serving
from tracker.http.limits import Limits
from tracker.http.tls import reload_certificate, server_context


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


async def serial_of(port: int, trust: ssl.SSLContext) -> str:
    """Return the serial number of the certificate that the server shows."""
    async with client_of(port, trust) as client:
        client.send(get())
        await client.answer()
        return str(client.writer.get_extra_info("ssl_object").getpeercert()["serialNumber"])


async def test_requests_are_answered_in_order_over_tls(
    authority: trustme.CA, tmp_path: Path
) -> None:
    context = server_context(*issue(authority, tmp_path))
    async with (
        serving(APPLICATION, tls=context) as (_, port),
        client_of(port, trusting(authority)) as client,
    ):
        body = b"x" * 1_000_000
        client.send(get() + post(body) + get(fields="Connection: close\r\n"))
        assert [(await client.answer()).body for _ in range(3)] == [b"https", body, b"https"]
        assert await client.rest() == b""


async def test_a_rejection_arrives_over_tls(authority: trustme.CA, tmp_path: Path) -> None:
    context = server_context(*issue(authority, tmp_path))
    async with (
        serving(APPLICATION, Limits(linger_seconds=0.2), tls=context) as (_, port),
        client_of(port, trusting(authority)) as client,
    ):
        client.send(b"nonsense\r\n\r\n")
        assert (await client.answer()).status == 400
        assert await client.rest() == b""


async def test_a_reloaded_certificate_is_used_for_new_connections(
    authority: trustme.CA, tmp_path: Path
) -> None:
    files = issue(authority, tmp_path)
    context = server_context(*files)
    trust = trusting(authority)
    async with (
        serving(APPLICATION, tls=context) as (_, port),
        client_of(port, trust) as old,
    ):
        old.send(get())
        await old.answer()
        before = await serial_of(port, trust)
        assert await serial_of(port, trust) == before
        issue(authority, tmp_path)
        reload_certificate(context, *files)
        assert await serial_of(port, trust) != before
        # Connections that are open go on.
        old.send(get())
        assert (await old.answer()).status == 200


@pytest.mark.parametrize("broken", ["certificate", "key", "other key", "missing"])
async def test_a_certificate_that_cannot_be_used_changes_nothing(
    authority: trustme.CA, tmp_path: Path, broken: str
) -> None:
    certificate, key = issue(authority, tmp_path)
    context = server_context(certificate, key)
    trust = trusting(authority)
    async with serving(APPLICATION, tls=context) as (_, port):
        before = await serial_of(port, trust)
        if broken == "missing":
            key.unlink()
        elif broken == "other key":
            issue(authority, tmp_path)
            key.write_bytes(authority.issue_cert("localhost").private_key_pem.bytes())
        else:
            (certificate if broken == "certificate" else key).write_text("not a PEM file")
        with pytest.raises(OSError, match=r"."):
            reload_certificate(context, certificate, key)
        assert await serial_of(port, trust) == before


async def test_a_tls_port_does_not_answer_plain_text(authority: trustme.CA, tmp_path: Path) -> None:
    context = server_context(*issue(authority, tmp_path))
    async with serving(APPLICATION, tls=context) as (_, port), client_of(port) as client:
        client.send(get())
        assert not (await client.rest()).startswith(b"HTTP")
