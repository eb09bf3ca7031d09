"""The demonstration: one command from nothing to a console that has something to show."""

import re
import signal
import subprocess
import sys
import urllib.request

from lab.processes import ROOT
from tests.ports import free_port
from tests.waiting import PROCESS_PATIENCE_SECONDS


def test_the_command_prints_the_way_into_its_console_and_ends_by_an_interrupt() -> None:
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
        finally:
            running.send_signal(signal.SIGINT)
        assert running.wait(PROCESS_PATIENCE_SECONDS) == 130
