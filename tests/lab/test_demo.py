"""The demonstration: one command from nothing to a console that has something to show."""

import re
import shlex
import signal
import subprocess
import sys
import urllib.request

from lab.processes import ROOT
from tests.ports import free_port
from tests.waiting import PROCESS_PATIENCE_SECONDS


def test_the_command_prints_what_opens_its_console_and_its_api_and_ends_by_an_interrupt() -> None:
    port = free_port()
    command = [sys.executable, "-m", "lab.demo", "--port", str(port)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        try:
            link = None
            while link is None:
                line = running.stdout.readline()
                assert line, "it has ended"
                link = re.search(rf"http://localhost:{port}/console/join#\S{{43}}", line)
            with urllib.request.urlopen(link[0], timeout=PROCESS_PATIENCE_SECONDS) as page:
                assert page.status == 200
            while "export" not in line:
                line = running.stdout.readline()
                assert line, "it has ended"
            given = dict(one.split("=", 1) for one in shlex.split(line)[1:])
            assert list(given) == ["BASE", "ACCOUNT_ID", "API_KEY", "POSTBACK_KEY"]
            request = urllib.request.Request(
                f"{given['BASE']}/api/short-links?accountId={given['ACCOUNT_ID']}&search=demo",
                headers={"Authorization": f"Bearer {given['API_KEY']}"},
            )
            with urllib.request.urlopen(request, timeout=PROCESS_PATIENCE_SECONDS) as answer:
                assert b"/c/demo" in answer.read()
        finally:
            running.send_signal(signal.SIGINT)
        assert running.wait(PROCESS_PATIENCE_SECONDS) == 130
