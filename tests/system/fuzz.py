"""Generated requests to the running service, by schemathesis from the service's `/openapi.json`.

`make fuzz` runs this for five minutes. The arguments are those of schemathesis. It fails on a 5xx,
and on an answer that `/openapi.json` does not describe.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from lab.loopback.run import loopback_only
from tests.dns.dns_server import in_a_thread
from tests.paths import ROOT
from tests.system.fuzz_hooks import REAL
from tests.system.owner import new_event_config, new_owner
from tests.system.service import Service, environment, running
from tracker.clicks.api.click_schema import EXAMPLE_SLUG
from tracker.conversions.api.event_schema import EXAMPLE_PBK
from tracker.links.api.short_link_schema import EXAMPLE_LINK
from tracker.web.schema import EXAMPLE_ACCOUNT

FUZZED = {
    "RATE_LIMIT_IP_PER_MINUTE": "0",
    "RATE_LIMIT_ACCOUNT_PER_HOUR": "0",
    # The names of `example_names` lead to this machine, and so does every delivery.
    "WEBHOOK_ALLOW_PRIVATE": "1",
}
"""Settings of a service that gets generated requests."""

CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_schema_conformance",
    "response_headers_conformance",
    "unsupported_method",
    "allow_header_conformance",
    "ignored_auth",
)
# The last one also sends back ids from answers.
ALL_PHASES = ("--phases", "examples,coverage,fuzzing")
CONFIGURATION = """
# A live stream is read up to its first event. It never ends, and more would take until the timeout.
max-stream-events = 1
"""


def fuzz(
    service: Service, variables: Mapping[str, str], folder: Path, arguments: Sequence[str]
) -> int:
    """Run schemathesis in `folder`; return its exit code. It prints its findings."""
    owner = new_owner(variables)
    link = owner.create_link(service, slug=EXAMPLE_SLUG)
    assert link.status == 200
    real = {
        EXAMPLE_ACCOUNT: owner.account_id,
        EXAMPLE_PBK: new_event_config(variables, owner),
        EXAMPLE_SLUG: EXAMPLE_SLUG,
        EXAMPLE_LINK: json.loads(link.body)["id"],
    }
    known = {
        REAL: json.dumps(real),
        "SCHEMATHESIS_HOOKS": "tests.system.fuzz_hooks",
        "PYTHONPATH": os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH")))),
    }
    command = [
        *(sys.executable, "-m", "schemathesis.cli", "run"),
        f"http://127.0.0.1:{service.port}/openapi.json",
        *("--header", f"Authorization: Bearer {owner.key}"),
        *("--checks", ",".join(CHECKS)),
        # It would revoke the key in use.
        *("--exclude-operation-id", "deleteKey"),
        *("--max-redirects", "0", "--warnings", "off", "--no-color", "--continue-on-failure"),
        *arguments,
    ]
    (folder / "schemathesis.toml").write_text(CONFIGURATION)
    return subprocess.run(command, cwd=folder, env=os.environ | known, check=False).returncode


@contextmanager
def example_names() -> Iterator[str]:
    """Yield the address of a DNS server by which the host of the examples is this machine."""
    with in_a_thread() as server:
        server.has("example.com", "A", "127.0.0.1")
        yield server.address


def main(arguments: Sequence[str]) -> int:
    with loopback_only("fuzz"), TemporaryDirectory() as folder, example_names() as resolver:
        variables = environment(None, DATA_DIR=folder, DNS_RESOLVER=resolver, **FUZZED)
        with running(variables) as service:
            options = [*ALL_PHASES, *(arguments or ["--max-time", "300"])]
            return fuzz(service, variables, Path(folder), options)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
