"""The pictures of the console: each is of a page that exists, and is shown by a document."""

import re

from tests.console.screenshots import FOLDER, PICTURES
from tests.documents import GUIDES, text
from tracker.console.assets import STATIC

MAX_BYTES = 180_000


def test_every_picture_is_of_a_page_of_the_console() -> None:
    routes = re.findall(r'^  \["/console/([^"]+)"', (STATIC / "app.js").read_text(), re.MULTILINE)
    pages = {re.sub(r":\w+", ":id", route) for route in routes}
    assert {re.sub(r"{\w+}", ":id", picture.path.split("?")[0]) for picture in PICTURES} <= pages


def test_every_picture_is_taken_and_small() -> None:
    taken = {path.name: path.stat().st_size for path in FOLDER.iterdir()}
    assert taken.keys() == {f"{picture.name}.png" for picture in PICTURES}
    assert {name: size for name, size in taken.items() if size > MAX_BYTES} == {}


def test_every_picture_is_shown_by_a_document() -> None:
    shown = {name for guide in GUIDES for name in re.findall(r"images/(\S+)\.png\)", text(guide))}
    assert shown == {picture.name for picture in PICTURES}
