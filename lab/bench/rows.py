"""The rows of the table: what serves, what is asked, and what is looked at besides."""

from typing import Final, Literal, NamedTuple

Serving = Literal["tornado", "front", "web and drain", "all", "nginx"]
Asking = Literal["clicks", "events by key", "events by click", "links"]

FIRST: Final = "a"
"""The row that the others are compared with."""


class Row(NamedTuple):
    """`stored` is the collection of what it records. `half`: also measured at half of its rate."""

    key: str
    name: str
    serving: Serving
    asking: Asking = "clicks"
    stored: Literal["clicks", "events"] | None = None
    half: bool = False
    appendfsync: Literal["everysec", "always"] = "everysec"

    @property
    def status(self) -> int:
        return 302 if self.asking == "clicks" else 200


ROWS: Final = (
    Row("a", "bare redirect, Tornado's own server", "tornado"),
    Row("b", "bare redirect, our front", "front"),
    Row("c", "click; drain in another process", "web and drain", stored="clicks", half=True),
    Row("d", "click; drain in the same process", "all", stored="clicks", half=True),
    Row(
        "e", "c, Redis flushing each append", "web and drain", stored="clicks", appendfsync="always"
    ),
    Row("f1", "event by postback key", "web and drain", "events by key", "events"),
    Row("f2", "event by click id", "web and drain", "events by click", "events"),
    Row("g", "list of short links, by API key", "web and drain", "links"),
    Row("h", "redirect by nginx", "nginx"),
)


def chosen(keys: str) -> list[Row]:
    """Those whose keys are named; `f` names f1 and f2. Raises ValueError naming a wrong one."""
    named = [key.strip() for key in keys.split(",")]
    for key in named:
        if not key or not any(row.key.startswith(key) for row in ROWS):
            raise ValueError(f"no such row: {key!r}; there are {', '.join(r.key for r in ROWS)}")
    return [row for row in ROWS if row.key.startswith(tuple(named))]
