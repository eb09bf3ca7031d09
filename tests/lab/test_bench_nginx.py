"""nginx as the benchmark runs it, where it is installed."""

import re
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from lab import requests
from lab.bench import nginx
from lab.processes import Process, running
from lab.scene import Place, Scene
from tests.ports import free_port
from tracker.service.services import Services

SCENE = Scene(UUID(int=1), "", [Place("load2-0"), Place("load2-1")], [], {})


@pytest.mark.skipif(bool(nginx.missing_for_lua()), reason=nginx.missing_for_lua())
async def test_nginx_redirects_once_redis_has_the_click(tmp_path: Path, services: Services) -> None:
    port = free_port()
    program = nginx.recording(tmp_path, services.settings.redis_url, SCENE)
    async with running([Process(program, port)]):
        answer = await requests.ask(port, requests.head("GET", "/c/load2-1?n=1", {}))
        unknown = await requests.ask(port, requests.head("GET", "/c/other", {}))
    location = re.escape("https://shop.test/landing/load2-1?campaign=spring&n=1&click_id=")
    found = re.search(rb"location: " + location.encode() + rb"(\S{36})\r", answer, re.IGNORECASE)
    assert found and UUID(found[1].decode()).version == 7
    entries: Any = await services.stores.redis.xrange(nginx.CLICKS)
    assert [click[b"1"].split(b"\t")[0] for _, click in entries] == [found[1]]
    assert unknown.startswith(b"HTTP/1.1 404")
