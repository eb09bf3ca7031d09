"""Which measures of counts make up the measures of reports."""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from tracker.reports.columns import COST_MEASURES, FURTHER, FURTHER_MEASURES, UNATTRIBUTED
from tracker.reports.query import Bots


class Sum(NamedTuple):
    """Measures to add, and measures to subtract."""

    plus: tuple[str, ...] = ()
    minus: tuple[str, ...] = ()


OF_FURTHER: Final[Mapping[str, str]] = {
    **{
        name: name
        for name in (
            *("pending_conversions", "pending_value", "rejected_conversions", "refunded_value"),
            *("other_payout", "costed", "cost"),
        )
    },
    "unknown_cost_clicks": "cost_unknown",
}

# The advertiser reports money. It counts although its click looked like a bot's.
_EXCLUDE: Final[Mapping[str, Sum]] = {
    "clicks": Sum(("clicks",)),
    "unique_clicks": Sum(("unique",)),
    "bot_clicks": Sum(("bots",)),
    "conversions": Sum(("conversions",)),
    "attributed": Sum(("conversions",), minus=(UNATTRIBUTED, "bot_conversions")),
    "value": Sum(("value",)),
    "payout": Sum(("payout",)),
    **{name: Sum((one,)) for name, one in OF_FURTHER.items()},
}
SUMS: Final[Mapping[Bots, Mapping[str, Sum]]] = {
    "exclude": _EXCLUDE,
    "include": {
        **_EXCLUDE,
        "clicks": Sum(("clicks", "bots")),
        "attributed": Sum(("conversions",), minus=(UNATTRIBUTED,)),
    },
    "only": {
        "clicks": Sum(("bots",)),
        "unique_clicks": Sum(),
        "bot_clicks": Sum(("bots",)),
        "conversions": Sum(("bot_conversions",)),
        "attributed": Sum(("bot_conversions",)),
        "value": Sum(("bot_value",)),
        "payout": Sum(("bot_payout",)),
        **{name: Sum((f"bot_{one}",)) for name, one in OF_FURTHER.items()},
    },
}
"""The measures of reports, from measures of counts, by how bots are counted."""


def measures_read(bots: Bots, has_further: bool) -> Sequence[str]:
    """Return the measures that reports read from rollups."""
    sums = SUMS[bots].values()
    names = {name for one in sums for name in (*one.plus, *one.minus)} - {UNATTRIBUTED}
    if not has_further:
        return [*sorted(names.difference(FURTHER_MEASURES, COST_MEASURES)), FURTHER]
    return sorted({*names, "bot_other_conversions" if bots == "only" else "other_conversions"})
