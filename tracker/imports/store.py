"""Imports in MongoDB: what they are, and the steps that they take."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, ClassVar, Final, Literal
from uuid import UUID

import msgspec
from msgspec import Meta, field

from tracker.jobs.store import Job, Jobs, Step
from tracker.stores.mongodb.database import MongoDB

State = (
    Literal["created", "reading", "uploaded", "checking", "checked", "running", "paused"]
    | Literal["done", "cancelled", "failed", "undoing", "undone", "comparing"]
)
Action = Literal["file", "check", "run", "pause", "resume", "cancel", "undo", "compare"]
States = tuple[State, ...]

WORKING: Final[States] = ("reading", "checking", "running", "undoing", "comparing")
"""States in which a process works on the import. Only one of an account is in any of them."""

AWAITS_FILE: Final[States] = ("created", "uploaded", "checked", "failed")

_STEPS: Final[Mapping[str, Step]] = {
    "file": Step("uploaded", AWAITS_FILE),
    "check": Step("checking", ("uploaded", "checked", "failed")),
    "run": Step("running", ("checked",)),
    "pause": Step("paused", ("running",), goes_on=True),
    "resume": Step("running", ("paused",), goes_on=True),
    "cancel": Step(
        "cancelled", (*AWAITS_FILE, "reading", "checking", "running", "paused"), goes_on=True
    ),
    "undo": Step("undoing", ("done", "cancelled", "failed", "undone")),
    "compare": Step("comparing", ("done",), goes_on=True),
}
"""`compare` is the check of a cut-over."""

MAX_IMPORTS: Final = 100
MAX_DOMAINS: Final = 1000
MAX_COLUMNS: Final = 100


class DomainChoice(msgspec.Struct, frozen=True, kw_only=True):
    """Where the links of a source's domain go; None: to the service's own domain."""

    name: str
    domain_id: UUID | None


class Column(msgspec.Struct, frozen=True, kw_only=True):
    """The column of a CSV, from 0, that has a field."""

    field: str
    number: Annotated[int, Meta(ge=0)]


class CutOver(msgspec.Struct, frozen=True, kw_only=True):
    """The check of a cut-over: how many paths were asked, and how many of them differ.

    `position` is the number of the last row, `domains` are where its links are.
    """

    at: datetime
    position: int = -1
    paths: int = 0
    differ: int = 0
    domains: list[UUID] = []
    is_complete: bool = False


class Import(Job, frozen=True, kw_only=True):
    """An import. Its present step has `total` items; `visits` are stored last.

    Counts are rows by outcome, and visits.
    """

    source: str
    instance: str = ""
    state: State = "created"
    format: str = ""
    domains: list[DomainChoice] = field(default_factory=list)
    columns: list[Column] = field(default_factory=list)
    total: int | None = None
    visits: int = 0
    visits_done: int = 0
    cut_over: CutOver | None = None
    domain_names: list[str] = field(default_factory=list)
    created_tags: list[UUID] = field(default_factory=list)


class Imports(Jobs[Import]):
    """The imports of all accounts."""

    noun = "import"
    most = MAX_IMPORTS
    working = WORKING
    steps = _STEPS
    anew: ClassVar[Mapping[str, Any]] = {**Jobs.anew, "visits_done": 0}

    def __init__(self, mongodb: MongoDB) -> None:
        super().__init__(mongodb, Import)
