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
from tests.system.service import Service, ended, environment, running
from tests.waiting import PROCESS_PATIENCE_SECONDS, until


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


HSTS = "Strict-Transport-Security"


def test_https_alone_is_answered_and_every_answer_has_strict_transport_security(
    settings: Settings, authority: Authority
) -> None:
    variables = named_example("https") | authority.issue().variables
    with running(environment(settings, **variables)) as service:
        client = authority.client(service.port)
        for method, path, status in (
            ("GET", "/readyz", 200),
            ("GET", "/c/none", 404),
            ("PUT", "/api/event", 405),
        ):
            client.request(method, path)
            answer = client.getresponse()
            assert (answer.status, answer.read()[:1]) == (status, b"{")
            assert answer.headers[HSTS] == "max-age=15552000"
        client.close()
        client.connect()
        client.sock.sendall(b"nonsense\r\n\r\n")
        assert f"{HSTS}: max-age=15552000\r\n" in client.sock.recv(10_000).decode()
        client.close()
        with socket.create_connection(
            ("localhost", service.port), timeout=PROCESS_PATIENCE_SECONDS
        ) as plain:
            plain.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert not received(plain).startswith(b"HTTP")
        assert authority.shown(service.port)
        assert service.stop() == 0


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
        assert f"https://localhost:{service.port}" in service.banner
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


@pytest.mark.parametrize(("role", "number"), [("all", "2"), ("drain", "1")])
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
    ("spoil", "number"),
    [
        (missing_certificate, "1"),
        (folder_for_a_key, "2"),
        (no_certificate, "1"),
        (another_key, "1"),
    ],
)
def test_unusable_certificate_files_are_named_before_anything_starts(
    authority: Authority, tmp_path: Path, spoil: Callable[[Authority], str], number: str
) -> None:
    files = authority.issue().variables
    expected = spoil(authority)
    data = tmp_path / "data"
    variables = environment(WEB_CONCURRENCY=number, DATA_DIR=str(data)) | files
    refused = ended(variables)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr.startswith("run.py: TLS_")
    assert expected in refused.stderr
    assert refused.stderr.count("\n") == 1
    assert not data.exists()


def test_a_check_says_whether_the_files_can_be_used_and_starts_nothing(
    authority: Authority, tmp_path: Path
) -> None:
    data = tmp_path / "data"
    variables = environment(DATA_DIR=str(data)) | authority.issue().variables
    passed = ended(variables, "run.py", "--check")
    assert (passed.returncode, passed.stdout, passed.stderr) == (0, "", "")
    expected = missing_certificate(authority)
    refused = ended(variables, "run.py", "--check")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert expected in refused.stderr
    assert not data.exists()
