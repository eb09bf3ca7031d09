"""The script of landing pages: where it is served, and that a version stays as it is."""

import gzip
import re
from base64 import b64encode
from hashlib import sha256, sha384

from tests.web.client import Client
from tests.web.document import assert_described
from tracker.clicks.api.page_script import PATH

VERSIONS = {PATH: "8c674ced22418f9f68b738b122c063e6b994e496252fcf340d96155a08ba008f"}
"""The hash of each version that pages may name. None is ever changed: add the next."""

MAX_BYTES = 2048


async def test_a_version_never_changes_and_takes_two_kilobytes(client: Client) -> None:
    for path, digest in VERSIONS.items():
        script = await client.get(path)
        assert (script.status, sha256(script.body).hexdigest()) == (200, digest)
        assert script.headers["Cache-Control"] == "public, max-age=31536000, immutable"
        assert script.headers["Access-Control-Allow-Origin"] == "*"
        assert script.headers["Cross-Origin-Resource-Policy"] == "cross-origin"
        assert_described("GET", path, script)
        packed = await client.get(path, Accept_Encoding="br, gzip")
        assert (packed.headers["Content-Encoding"], len(packed.body) <= MAX_BYTES) == ("gzip", True)
        assert gzip.decompress(packed.body) == script.body
        assert packed.headers["Vary"] == script.headers["Vary"] == "Accept-Encoding"


async def test_path_and_hash_of_the_newest_are_told_to_every_page(client: Client) -> None:
    newest = await client.get("/js/tracker.json")
    assert_described("GET", "/js/tracker.json", newest)
    script = await client.get(newest.json()["path"])
    digest = b64encode(sha384(script.body).digest()).decode()
    assert newest.json()["integrity"] == f"sha384-{digest}"
    assert newest.headers["Access-Control-Allow-Origin"] == "*"
    assert "Cache-Control" not in newest.headers


async def test_it_uses_nothing_that_a_strict_policy_forbids(client: Client) -> None:
    text = (await client.get(PATH)).body.decode()
    assert re.findall(r"\beval\b|new Function|innerHTML|document\.(?:cookie|write)", text) == []
