"""The table of the dimensions of reports: how each is counted, derived, named and filtered. Pure.

Schemas, filters, feeds, files and the console follow from its rows.

- A *counted* dimension is a column of joint counts.
- A *derived* one is computed from its `derived_from`: a counted dimension, or the day and hour.
- A tag belongs to links, and is joined when a report is read.
- The sender's own parameters are counted by position, and called `parameter:NAME` in the API.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, Literal, NamedTuple, TypeAlias

from tracker.clicks.bots import REASONS
from tracker.clicks.document import OWN_PARAMETERS
from tracker.clicks.sources import QR_CODE, SOURCES, SourceDimension
from tracker.errors import BadRequest
from tracker.links.utm import UTM
from tracker.reports import time_keys
from tracker.reports.filters import Filter, country_of, families, host_of, id_or
from tracker.reports.periods import step_of
from tracker.syntax.currency import checked_currency
from tracker.visitor_dimensions import BROWSERS, DEVICES, SYSTEMS, UNKNOWN, country_name

NO_VALUE: Final = "none"
"""The bot reason of people's clicks, and the event configuration of events without one."""

NO_EVENT: Final = ""
"""The event configuration and the currency of clicks. Reports by them leave it out."""

NO_KEY: Final = {"link": UNKNOWN, "event": NO_VALUE}
"""The key of conversions without a link or an event configuration."""

OTHERS: Final = "others"
"""The values of an own parameter that are not among the largest of a day and link."""

OWN_PREFIX: Final = "parameter:"
"""The beginning of the names of own parameters in the API."""

LINK: Final = "link"
TAG: Final = "tag"
DOMAIN: Final = "domain"
REFERRER: Final = "referrer"
DAY: Final = "day"
HOUR: Final = "hour"
EVENT: Final = "event"
CURRENCY: Final = "currency"
RULE: Final = "rule"
VARIANT: Final = "variant"
PARENT: Final = "parent_link"

OF_EVENTS: Final = (EVENT, CURRENCY)
"""The dimensions of events that clicks do not have."""

HOME_CURRENCY: Final = "units"
"""The currency of events that have none: the account's, by whose code reports call it."""

DocumentKind: TypeAlias = Literal["clicks", "events"]
DOCUMENT_KINDS: Final[tuple[DocumentKind, ...]] = ("clicks", "events")


class ReportDimension(NamedTuple):
    """A property of clicks and conversions that reports group by.

    - `one` and `many` are its names in the console. Panels of a `card` are its tabs; without one
      there is no panel.
    - `field` is in documents. `absent` is its value if a click lacks it.
    - `key` derives its key from a calendar and the values of `derived_from`.
    - `record` is a collection and the field of its names. Other values have a `label`, or one of
      `names`.
    """

    name: str
    one: str = ""
    many: str = ""
    card: str = ""
    field: str | None = None
    absent: str = UNKNOWN
    derived_from: Sequence[str] = ()
    key: Callable[..., str] | None = None
    record: tuple[str, str] | None = None
    label: Callable[[str], str] = str
    names: Mapping[str, str] = {}
    filter: Filter | None = None


def _currency_of(text: str) -> str:
    if text.lower() == HOME_CURRENCY:
        return HOME_CURRENCY
    try:
        return checked_currency(CURRENCY, text)
    except BadRequest as error:
        raise ValueError(f"{error.message}, or units") from None


def _source(
    source: SourceDimension, one: str, many: str, wanted: Filter, **more: str
) -> ReportDimension:
    return ReportDimension(
        source.name,
        one,
        many,
        "sources",
        field=source.field,
        absent=source.absent,
        names={source.absent: source.absent.capitalize()} | more,
        filter=wanted,
    )


def _utm(source: SourceDimension) -> ReportDimension:
    word = source.name.removeprefix("utm_")
    wanted = Filter("as reports show them; none: clicks without it")
    return _source(source, f"UTM {word}", word.capitalize(), wanted)


def _of_ids(
    name: str, one: str, many: str, record: tuple[str, str], without: str
) -> ReportDimension:
    """Return a dimension whose records have names. Clicks `without` one are `none`."""
    return ReportDimension(
        name,
        one,
        many,
        "links",
        field=f"{name}_id",
        absent=NO_VALUE,
        record=record,
        names={NO_VALUE: f"No {one.lower()}", UNKNOWN: "No click"},
        filter=Filter(
            f"ids of {many.lower()}; none: clicks {without}",
            "; unknown: conversions without a click",
            canonical=id_or(name, NO_VALUE, UNKNOWN),
        ),
    )


_LINK: Final = ("links", "internal_name")
_CHOICE: Final = ("choices", "name")
"""The names of rules and variants, which are remembered for ever."""

_SOURCES: Final = {source.name: source for source in SOURCES}


_ROWS: Final = (
    ReportDimension(
        LINK,
        "Link",
        "Links",
        "links",
        record=_LINK,
        names={NO_KEY[LINK]: "No click"},
        filter=Filter("ids of short links", are_ids=True),
    ),
    ReportDimension(
        TAG,
        "Tag",
        "Tags",
        "links",
        derived_from=(LINK,),
        record=("tags", "name"),
        filter=Filter("ids of tags, as links have them now", are_ids=True),
    ),
    ReportDimension(
        "device",
        "Device",
        "Devices",
        "visitors",
        field="device",
        label=lambda device: "TV" if device == "tv" else device.capitalize(),
        filter=Filter(choices=DEVICES),
    ),
    ReportDimension(
        "country",
        "Country",
        "Countries",
        "places",
        field="country",
        label=country_name,
        filter=Filter("ISO 3166-1 alpha-2 or unknown, in any case", canonical=country_of),
    ),
    ReportDimension(
        "browser", "Browser", "Browsers", "visitors", field="browser", filter=families(BROWSERS)
    ),
    ReportDimension("os", "System", "Systems", "visitors", field="os", filter=families(SYSTEMS)),
    ReportDimension(
        DOMAIN,
        "Domain",
        "Domains",
        "links",
        field="domain_name",
        filter=Filter(
            "hostnames, including that of the service", ", or unknown", canonical=host_of
        ),
    ),
    ReportDimension(
        EVENT,
        "Event",
        "Events",
        "events",
        record=("event_configs", "name"),
        names={NO_KEY[EVENT]: "No event configuration"},
        filter=Filter(
            "ids of event configurations; none: conversions without one",
            canonical=id_or(EVENT, NO_VALUE),
        ),
    ),
    _source(
        _SOURCES[REFERRER],
        "Referrer",
        "Referrers",
        Filter(
            "hosts, in any case; qr: clicks by a QR code; direct: clicks without a referrer",
            canonical=host_of,
        ),
        **{QR_CODE: "QR code"},
    ),
    *(_utm(_SOURCES[name]) for name in UTM),
    ReportDimension(
        "bot",
        "Bot",
        "Bots",
        "events",
        field="bot",
        absent=NO_VALUE,
        label=lambda reason: reason.replace("_", " ").capitalize(),
        names={NO_VALUE: "People"},
        filter=Filter(
            "why clicks count as a bot's; none: those of people",
            "; unknown: conversions without a click",
            choices=(*REASONS, NO_VALUE, UNKNOWN),
        ),
    ),
    ReportDimension(
        CURRENCY,
        "Currency",
        "Currencies",
        "events",
        names={HOME_CURRENCY: "Units"},
        filter=Filter(
            "ISO 4217, in any case; units: that of an account without one", canonical=_currency_of
        ),
    ),
    _of_ids(RULE, "Rule", "Rules", _CHOICE, "that none decided"),
    _of_ids(VARIANT, "Variant", "Variants", _CHOICE, "that none decided"),
    _of_ids(PARENT, "Parent link", "Parent links", _LINK, "that no other led to"),
    ReportDimension(HOUR, derived_from=(DAY, HOUR), key=time_keys.hour),
    ReportDimension(DAY, derived_from=(DAY,)),
    ReportDimension("week", derived_from=(DAY,), key=lambda _, day: step_of(day, "week")),
    ReportDimension("month", derived_from=(DAY,), key=lambda _, day: step_of(day, "month")),
    ReportDimension(
        "hour_of_day",
        derived_from=(DAY, HOUR),
        key=time_keys.hour_of_day,
        label=lambda hour: f"{hour}:00",
    ),
    ReportDimension(
        "weekday", derived_from=(DAY,), key=time_keys.weekday, label=time_keys.weekday_label
    ),
    ReportDimension(
        "hour_of_week",
        "Hour of the week",
        "Hours of the week",
        "hours",
        derived_from=(DAY, HOUR),
        key=time_keys.hour_of_week,
        label=time_keys.hour_of_week_label,
    ),
)

_OWN: Final = tuple(
    ReportDimension(
        name,
        field=name,
        absent=NO_VALUE,
        names={NO_VALUE: "None", OTHERS: "Others"},
        filter=Filter("as reports show them; none: clicks without it"),
    )
    for name in OWN_PARAMETERS
)
DIMENSIONS: Final[Mapping[str, ReportDimension]] = {one.name: one for one in (*_ROWS, *_OWN)}
GROUPS: Final = tuple(one.name for one in _ROWS)
"""Those of every account. `FILTERS` are too."""

FILTERS: Final[Mapping[str, Filter]] = {one.name: one.filter for one in _ROWS if one.filter}
FILTER_NAMES: Final = tuple(FILTERS)
SEARCHED: Final = (LINK, DOMAIN, *_SOURCES)
"""The filters by a part of a text: the name of a link, else the value."""
PICTURES: Final = ("map", "hour_of_week")
"""Panels of the console that are pictures. The map is one of countries."""

CARDS: Final = ("links", "places", "visitors", "sources", "events", "hours")
"""The cards of the console, in their order."""

TIME: Final = frozenset(one.name for one in _ROWS if DAY in one.derived_from)
"""The dimensions that are derived from the day, or from the hour in it."""
