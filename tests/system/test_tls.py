"""TLS_CERT and TLS_KEY: https only, with a certificate that can be renewed."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from config.settings import Settings
from tests.paths import ROOT
from tests.suspended import suspended
from tests.system.certificates import Authority, named_example
from tests.system.processes import ask_each, processes
from tests.system.service import Service, environment, running
from tests.waiting import PROCESS_PATIENCE_SECONDS, until


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


def test_https_is_answered_on_a_kept_connection_and_named_in_the_banner(
    settings: Settings, authority: Authority
) -> None:
    with running(environment(settings, **authority.issue().variables)) as service:
        assert f"https://localhost:{service.port}" in service.banner
        client = authority.client(service.port)
        for path, status in (("/readyz", 200), ("/c/none", 404), ("/healthz", 200)):
            client.request("GET", path)
            answer = client.getresponse()
            assert (answer.status, answer.read()[:1]) == (status, b"{")
        client.close()
        assert service.stop() == 0


def test_plain_http_to_the_port_is_not_answered_and_does_not_hang(
    settings: Settings, authority: Authority
) -> None:
    with running(environment(settings, **authority.issue().variables)) as service:
        with socket.create_connection(
            ("localhost", service.port), timeout=PROCESS_PATIENCE_SECONDS
        ) as plain:
            plain.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert not received(plain).startswith(b"HTTP")
        assert authority.shown(service.port)


def received(plain: socket.socket) -> bytes:
    """Return the bytes received until the connection ends."""
    data = b""
    try:
        while more := plain.recv(1000):
            data += more
    except ConnectionResetError:
        pass
    return data


def test_sighup_loads_a_renewed_certificate_and_rejects_an_invalid_one(
    settings: Settings, authority: Authority, capfd: pytest.CaptureFixture[str]
) -> None:
    variables = environment(settings, **authority.issue().variables)
    with running(variables) as service:
        first = authority.shown(service.port)
        authority.issue()
        assert authority.shown(service.port) == first
        service.process.send_signal(signal.SIGHUP)
        until(lambda: authority.shown(service.port) != first)
        second = authority.shown(service.port)

        authority.files.key.write_text("not a key")
        service.process.send_signal(signal.SIGHUP)
        errors = ""

        def is_logged() -> bool:
            nonlocal errors
            errors += capfd.readouterr().err
            return "certificate cannot be reloaded" in errors

        until(is_logged)
        assert f"TLS_KEY='{authority.files.key}'" in errors
        assert authority.shown(service.port) == second
        assert service.stop() == 0


def test_every_worker_loads_a_renewed_certificate(settings: Settings, authority: Authority) -> None:
    variables = environment(settings, WEB_CONCURRENCY="2", **authority.issue().variables)
    with running(variables) as service:
        first = shown_by_each(service, authority)
        assert len(first) == 1
        authority.issue()
        service.process.send_signal(signal.SIGHUP)
        until(lambda: shown_by_each(service, authority).isdisjoint(first))
        assert len(shown_by_each(service, authority)) == 1
        assert service.stop() == 0


def shown_by_each(service: Service, authority: Authority) -> set[str]:
    return set(ask_each(service, lambda: authority.shown(service.port)))


def test_a_replacement_with_an_invalid_certificate_leaves_the_others_running(
    settings: Settings, authority: Authority
) -> None:
    variables = environment(settings, WEB_CONCURRENCY="2", **authority.issue().variables)
    with running(variables) as service:
        [serial] = shown_by_each(service, authority)
        first, other = processes(service)
        good = authority.files.key.read_bytes()
        authority.files.key.write_text("not a key")
        os.kill(other, signal.SIGKILL)
        until(lambda: processes(service) == [first])
        assert authority.shown(service.port) == serial
        authority.files.key.write_bytes(good)
        until(lambda: len(processes(service)) == 2)
        with suspended(first):
            until(lambda: authority.shown(service.port) == serial)
        assert service.stop() == 0


@pytest.mark.parametrize("role", ["all", "drain"])
@pytest.mark.parametrize("number", ["1", "2"])
def test_sighup_without_a_certificate_and_sigusr2_end_no_process(
    settings: Settings, role: str, number: str
) -> None:
    variables = environment(settings, WEB_CONCURRENCY=number)
    process = subprocess.Popen(
        [sys.executable, "run.py", "--role", role],
        cwd=ROOT,
        env=variables,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline().startswith("tracker ")
    # If one of these ended the process, it would do so before SIGTERM is handled.
    process.send_signal(signal.SIGHUP)
    process.send_signal(signal.SIGUSR2)
    process.send_signal(signal.SIGTERM)
    assert process.wait(PROCESS_PATIENCE_SECONDS) == 0
    process.stdout.close()


def missing_certificate(authority: Authority) -> str:
    authority.files.cert.unlink()
    return f"TLS_CERT='{authority.files.cert}': must be a file that can be read: No such file"


def folder_for_a_key(authority: Authority) -> str:
    authority.files.key.unlink()
    authority.files.key.mkdir()
    return f"TLS_KEY='{authority.files.key}': must be a file that can be read: Is a directory"


def no_certificate(authority: Authority) -> str:
    authority.files.cert.write_text("not a certificate")
    return "must be PEM files of a certificate and its key, without a passphrase"


def another_key(authority: Authority) -> str:
    key = authority.files.key.read_bytes()
    authority.issue()
    authority.files.key.write_bytes(key)
    return "must be PEM files of a certificate and its key, without a passphrase"


@pytest.mark.parametrize(
    "spoil", [missing_certificate, folder_for_a_key, no_certificate, another_key]
)
@pytest.mark.parametrize("number", ["1", "2"])
def test_unusable_certificate_files_are_named_before_anything_starts(
    authority: Authority, tmp_path: Path, spoil: Callable[[Authority], str], number: str
) -> None:
    files = authority.issue().variables
    expected = spoil(authority)
    data = tmp_path / "data"
    variables = environment(WEB_CONCURRENCY=number, DATA_DIR=str(data)) | files
    ended = subprocess.run(
        [sys.executable, "run.py"],
        cwd=ROOT,
        env=variables,
        capture_output=True,
        text=True,
        timeout=PROCESS_PATIENCE_SECONDS,
    )
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr.startswith("run.py: TLS_")
    assert expected in ended.stderr
    assert ended.stderr.count("\n") == 1
    assert not data.exists()


def test_a_check_says_whether_the_files_can_be_used_and_starts_nothing(
    authority: Authority, tmp_path: Path
) -> None:
    data = tmp_path / "data"
    variables = environment(DATA_DIR=str(data)) | authority.issue().variables

    def checked() -> tuple[int, str, str]:
        command = [sys.executable, "run.py", "--check"]
        ended = subprocess.run(
            command,
            cwd=ROOT,
            env=variables,
            capture_output=True,
            text=True,
            timeout=PROCESS_PATIENCE_SECONDS,
        )
        return ended.returncode, ended.stdout, ended.stderr

    assert checked() == (0, "", "")
    expected = missing_certificate(authority)
    code, printed, errors = checked()
    assert (code, printed, expected in errors) == (2, "", True)
    assert not data.exists()


HSTS = "Strict-Transport-Security"


@pytest.mark.parametrize(
    ("variables", "sent"),
    [
        ({}, "max-age=15552000"),
        ({"HSTS_SECONDS": "60"}, "max-age=60"),
        ({"HSTS_SECONDS": "0"}, None),
        ({"BASE_URL": ""}, None),  # other services may run on localhost
    ],
    ids=["usual", "other time", "off", "localhost"],
)
def test_every_answer_over_tls_has_strict_transport_security(
    settings: Settings, authority: Authority, variables: dict[str, str], sent: str | None
) -> None:
    variables = named_example("https") | authority.issue().variables | variables
    with running(environment(settings, **variables)) as service:
        port = service.port
        values = []
        for method, path in (("GET", "/c/none"), ("GET", "/healthz"), ("PUT", "/api/event")):
            client = authority.client(port)
            client.request(method, path)
            values.append(client.getresponse().headers.get(HSTS))
            client.close()
        client = authority.client(port)
        client.connect()
        client.sock.sendall(b"nonsense\r\n\r\n")
        refused = client.sock.recv(10_000).decode()
        client.close()
        assert values == [sent] * 3
        assert (f"{HSTS}: {sent}\r\n" in refused) == (sent is not None)


def test_without_tls_no_answer_has_strict_transport_security(settings: Settings) -> None:
    with running(environment(settings, **named_example("https"))) as service:
        assert HSTS.lower() not in service.get("/healthz").headers
