"""Commands of docs/deploy.md work as they are pasted."""

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.request import urlopen

import pytest

from config.settings import Settings
from tests.documents import DEPLOY, OPERATIONS, block, text
from tests.paths import ROOT
from tests.ports import free_port
from tests.system.service import environment
from tests.waiting import PROCESS_PATIENCE_SECONDS, until

HONCHO = shutil.which("honcho", path=f"{ROOT}/.venv/bin:{os.environ['PATH']}")
STOP_SECONDS = 40


@contextmanager
def pasted(command: str, variables: dict[str, str], output: Path) -> Iterator[None]:
    """Run a command in a shell, as in a terminal; Ctrl-C ends it."""
    with (
        output.open("wb") as file,
        subprocess.Popen(
            ["bash", "-c", f"exec env {command}"],
            cwd=ROOT,
            env=variables,
            stdout=file,
            stderr=file,
            start_new_session=True,
        ) as process,
    ):
        try:
            yield
        finally:
            os.killpg(process.pid, signal.SIGINT)
            try:
                process.wait(STOP_SECONDS)
            finally:
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)


def is_alive(port: int) -> bool:
    try:
        with urlopen(f"http://127.0.0.1:{port}/livez", timeout=PROCESS_PATIENCE_SECONDS) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


@pytest.mark.skipif(HONCHO is None, reason="honcho is not installed")
def test_the_procfile_runs_here_with_the_command_of_the_page(tmp_path: Path) -> None:
    """Neither `python` nor the packages of the service are on the PATH of whoever pastes it."""
    commands = block(DEPLOY, ".venv/bin/pip install honcho")
    installs, command = commands.splitlines()
    assert installs == ".venv/bin/pip install honcho"
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "honcho").symlink_to(str(HONCHO))
    port, output = free_port(), tmp_path / "output"
    variables = environment(PORT=str(port), DATA_DIR=str(tmp_path / "data"))
    variables["PATH"] = f"{tmp_path}/bin:/usr/bin:/bin"

    def printed(line: str) -> bool:
        return line in output.read_text("utf-8", errors="replace")

    with pasted(command, variables, output):
        until(lambda: is_alive(port))
        until(lambda: printed("drains the journal into MongoDB"))
    assert "Traceback" not in output.read_text("utf-8", errors="replace")


def test_the_service_starts_in_production_with_the_command_of_the_page(
    settings: Settings, tmp_path: Path
) -> None:
    install, command = block(OPERATIONS, "pip install").split("\n", 1)
    assert (ROOT / install.split()[-1]).exists()
    own = environment(settings, PORT=str(port := free_port()))
    own["PATH"] = f"{Path(sys.executable).parent}:{own['PATH']}"
    for name in ("REDIS_URL", "MONGODB_URI"):
        command, changed = re.subn(rf"{name}=\S+", f"{name}='{own[name]}'", command)
        assert changed == 1
    with pasted(command, own, tmp_path / "output"):
        until(lambda: is_alive(port))
    assert "Traceback" not in (tmp_path / "output").read_text("utf-8")


def test_scripts_run_with_the_variables_of_the_units(settings: Settings, tmp_path: Path) -> None:
    [command] = re.findall(r"`(\(set -a; .*?\))`", text(DEPLOY), re.DOTALL)
    named = "/etc/tracker/tracker.env"
    assert named in command
    own = environment(settings)
    file = tmp_path / "tracker.env"
    file.write_text("".join(f"{name}='{value}'\n" for name, value in own.items()))
    done = subprocess.run(
        ["bash", "-c", command.replace(named, str(file))],
        cwd=ROOT,
        env={"PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=PROCESS_PATIENCE_SECONDS,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "none\n"
