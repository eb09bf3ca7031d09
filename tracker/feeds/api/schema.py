"""The common parts of both feeds' requests and answers."""

from collections.abc import Iterable
from datetime import date, timedelta
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final, Generic, Literal, TypeVar

import msgspec
from msgspec import UNSET, Meta, UnsetType, field

from tracker.calendar import Calendar
from tracker.errors import BadRequest
from tracker.feeds.api.cursors import FeedCursors
from tracker.feeds.arrivals import FeedName
from tracker.feeds.filter import FeedFilter
from tracker.feeds.page import Bookmark, PageStart, TimePosition
from tracker.feeds.storing_order import MAX_AGE_DAYS
from tracker.feeds.storing_order import MAX_EXAMINED as MAX_EXAMINED_STORED
from tracker.feeds.time_order import MAX_EXAMINED
from tracker.links.hostnames import canonical_hostname
from tracker.reports.api.filters import OwnFilters, checked_own, described, values_of
from tracker.reports.counted import COUNTED_FIELDS
from tracker.reports.dimensions import FILTERS, LINK, OF_EVENTS, OWN_PREFIX, TAG
from tracker.reports.query import Bots
from tracker.web.export import FormatIn
from tracker.web.limits import DEFAULT_PAGE_SIZE
from tracker.web.schema import AccountId, Day, PageSize, Timestamp, parse_day

_FIRST_DAY, _LAST_DAY = date(1970, 1, 2), date(9998, 12, 31)

Row = TypeVar("Row")

_BY_LINK: Final = (LINK, TAG)
_OTHERS: Final = [
    name
    for name in dict.fromkeys((*COUNTED_FIELDS, *FILTERS))
    if name in FILTERS and name not in (*_BY_LINK, *OF_EVENTS)
]


def _fields(names: Iterable[str]) -> list[tuple[str, Any, Any]]:
    return [(name, described(values_of(name), FILTERS[name].about), []) for name in names]


class _FeedPage(msgspec.Struct, kw_only=True):
    account_id: AccountId = field(name="accountId")
    cursor: Annotated[
        str | None, Meta(description="the next_cursor of the page before; default: the newest")
    ] = None
    since: Annotated[
        str | None,
        Meta(
            description="a since_cursor: lists everything that was stored after it, oldest first. "
            f"It can be used for {MAX_AGE_DAYS} days"
        ),
    ] = None
    page_size: PageSize = field(default=DEFAULT_PAGE_SIZE, name="pageSize")
    first: Annotated[Day | None, Meta(description="the first day, in the account's time zone")] = (
        field(default=None, name="from")
    )
    last: Annotated[Day | None, Meta(description="the last day; included")] = field(
        default=None, name="to"
    )


_TagOperator = Annotated[
    Literal["OR", "AND"], Meta(description="OR: links with any of the tags; AND: with all")
]
if TYPE_CHECKING:

    class _Filters(_FeedPage, kw_only=True):
        domain: list[str]
        tag_operator: _TagOperator

else:
    _Filters = msgspec.defstruct(
        "_Filters",
        [
            *_fields(_BY_LINK),
            ("tag_operator", _TagOperator, field(default="OR", name="tagOperator")),
            *_fields(_OTHERS),
        ],
        bases=(_FeedPage,),
        kw_only=True,
    )


class FeedQuery(_Filters, kw_only=True):
    """A page of a feed. Each filter is given once, or repeated for any of several values."""

    FEED: ClassVar[FeedName]

    bots: Annotated[
        Bots,
        Meta(
            description="clicks of bots and prefetches: shown too (include), left out "
            "(exclude; their conversions are not), or shown alone (only)"
        ),
    ] = "include"
    own: OwnFilters | UnsetType = field(name=OWN_PREFIX, default=UNSET)
    format: FormatIn = UNSET

    def __post_init__(self) -> None:
        self.own = checked_own(self.own)
        for name, one in FILTERS.items():
            if one.canonical and (values := getattr(self, name, [])):
                setattr(self, name, list(map(one.canonical, values)))
        first, last = self._days()
        if first is not None and last is not None and first > last:
            raise ValueError("from: must not be after to")
        if self.cursor is not None and self.since is not None:
            raise ValueError("since: not together with cursor")
        self.start()

    @property
    def cursors(self) -> FeedCursors:
        return FeedCursors(self.FEED, self.account_id)

    def start(self) -> PageStart | None:
        """Return where to start; None for the newest. Raises BadRequest for a wrong cursor."""
        try:
            if self.since is not None:
                return self.cursors.start_of(Bookmark, self.since)
            if self.cursor is not None:
                return self.cursors.start_of(TimePosition, self.cursor)
            return None
        except ValueError:
            rule = "cursor: must be the next" if self.since is None else "since: must be the since"
            of_page = f"_cursor of a page of the same account's {self.FEED}"
            raise BadRequest(rule + of_page) from None

    def filter(self, calendar: Calendar, host: str) -> FeedFilter:
        """Return the filter. Days are in the calendar; `host` is the service's own.

        Raises BadRequest if a domain is not a hostname.
        """
        if any(one != host and not canonical_hostname(one) for one in self.domain):
            raise BadRequest("domain: must be a hostname such as go.example.com")
        first, last = self._days()
        until = None if last is None else calendar.end_of(_within(last))
        return FeedFilter(
            first=None if first is None else calendar.start_of(_within(first)),
            last=None if until is None else until - timedelta(milliseconds=1),
            values={
                name: list(dict.fromkeys(values))
                for name in FILTERS
                if (values := getattr(self, name, ()))
            },
            all_tags=self.tag_operator == "AND",
            bots=self.bots,
        )

    def _days(self) -> tuple[date | None, date | None]:
        return (
            None if self.first is None else parse_day("from", self.first),
            None if self.last is None else parse_day("to", self.last),
        )


def _within(day: date) -> date:
    """Clamp the day to days that a calendar can start."""
    return min(max(day, _FIRST_DAY), _LAST_DAY)


class FeedPage(msgspec.Struct, Generic[Row], kw_only=True):
    """A page of a feed, newest first; with since in the order of storing."""

    rows: list[Row]
    next_cursor: Annotated[
        str | None,
        Meta(description="cursor of the next page; null on the last page, and with since"),
    ]
    since_cursor: Annotated[
        str | None,
        Meta(
            description="for since: lists what is stored after this page, or after its rows if it "
            "has since; null on pages with cursor"
        ),
    ]
    searched_to: Annotated[
        Timestamp | None,
        Meta(
            description="set if few rows pass the filters: the page has searched back to this "
            f"time, after {MAX_EXAMINED:,} rows, and the next page continues. With since: when the "
            f"last row was stored that it has searched, of up to {MAX_EXAMINED_STORED:,}; null if "
            "nothing more is stored"
        ),
    ]
