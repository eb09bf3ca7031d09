"""Enrichment: the values derived from a click, and its document in MongoDB."""

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Final, NamedTuple, cast

from bson import Decimal128

from tracker.clicks.bots import bot_reason
from tracker.clicks.click import Click
from tracker.clicks.country import Countries
from tracker.clicks.document import ClickDocument, CostFields
from tracker.clicks.sources import QR_CODE, referrer_host
from tracker.clicks.user_agent import describe
from tracker.clicks.visit import MAX_QUERY_CHARACTERS
from tracker.clock import moment
from tracker.errors import BadRequest
from tracker.ids import parse_id
from tracker.links.options import CLICK_ID, QR_PAIR
from tracker.links.utm import text_of, utm_values
from tracker.stores.mongodb.documents import StoredId, shared_id
from tracker.syntax.amounts import cost_in
from tracker.syntax.unfilled import unfilled
from tracker.syntax.url import parameter
from tracker.visitor_dimensions import CACHED_VISITS, Agent, values_of

COST_PARAMETER: Final = "cost"
"""The parameter with the cost of a click, unless the account has chosen another or none."""

AD_IDS: Final = (
    "gclid",
    "gbraid",
    "wbraid",
    "fbclid",
    "ttclid",
    "msclkid",
    "twclid",
    "li_fat_id",
    "dclid",
    "rdclid",
    "oppref",
    "epik",
    "ScCid",
)
MAX_AD_ID_CHARACTERS: Final = 512
"""A longer id is left out: cut, it would name nothing."""

MAX_OWN_CHARACTERS: Final = 256
"""Longer values of the sender's own parameters are cut."""

_PLAIN: Final = re.compile(r"(?=\D*\d)[A-Za-z0-9][\w.~-]{0,255}", re.ASCII)
"""A value that is neither encoded nor a macro or a word for no value: to find that out takes
5 µs."""

_PARENT: Final = f"{CLICK_ID}="
_AD_ID: Final = re.compile(rf"(?:^|&)({'|'.join(AD_IDS)})=")


class AccountParameters(NamedTuple):
    """The parameters that an account reads from its clicks.

    `cost` has the cost of a click. `own` has the field of each of the sender's own parameters.
    """

    cost: str | None = COST_PARAMETER
    own: Mapping[str, str] = MappingProxyType({})


class Enrichment:
    """Derives a click's values, for the drain and for macros in destinations."""

    def __init__(self, countries: Countries, store_ip: bool) -> None:
        self._countries = countries
        self._store_ip = store_ip

    def values(self, address: str, edge_country: str, user_agent: str) -> Mapping[str, str]:
        """Return the visitor's dimensions by name; do not change the mapping."""
        country = self._countries.look_up(address, edge_country)
        return values_of(country, describe(user_agent))

    def document(self, click: Click, chosen: AccountParameters | None = None) -> ClickDocument:
        """Return the click's document. Raises ValueError if an id is not 16 bytes.

        `unique` is False until other clicks are known. Ids have the driver's type: converting them
        later takes a copy of the document, 0.4 µs.
        """
        country = self._countries.look_up(click.address, click.edge_country)
        document = _template(country, describe(click.user_agent)).copy()
        document["_id"] = StoredId(click.id)
        document["account_id"] = shared_id(click.account_id)
        document["link_id"] = shared_id(click.link_id)
        document["at"] = moment(click.at)
        document["domain_name"] = click.domain_name
        document["bot"] = bot_reason(click.user_agent, click.purpose)
        document["referrer"] = click.referrer
        document["user_agent"] = click.user_agent
        document["query"] = click.query
        # Tested here, because for most clicks these calls would do nothing.
        if click.referrer and (host := referrer_host(click.referrer)):
            document["referrer_host"] = host
        if QR_PAIR in click.query and f"&{QR_PAIR}&" in f"&{click.query}&":
            document["referrer_host"] = QR_CODE
        if click.link_utm:
            document.update(utm_values(click.link_utm))  # type: ignore[typeddict-item]
        if "utm_" in click.query:  # the visitor's parameters win
            document.update(utm_values(click.query))  # type: ignore[typeddict-item]
        cost = COST_PARAMETER if chosen is None else chosen.cost
        if click.cost is not None or (cost and cost in click.query):
            document.update(_cost(click, cost))  # type: ignore[typeddict-item]
        if chosen is not None and chosen.own:
            document.update(_own(click.query, chosen.own))  # type: ignore[typeddict-item]
        if click.query and (ad_ids := _ad_ids(click.query)):
            document["ad_ids"] = ad_ids
        if _PARENT in click.query and (parent_id := _parent_id(click)) is not None:
            document["parent_id"] = parent_id
        if self._store_ip:
            document["address"] = click.address
        if click.rule_id or click.variant_id or click.test or click.consent:
            document.update(_of_few(click))  # type: ignore[typeddict-item]
        return document


_FIELDS: Final = tuple(
    name for name in ClickDocument.__annotations__ if name in ClickDocument.__required_keys__
)


@lru_cache(maxsize=CACHED_VISITS)
def _template(country: str, agent: Agent) -> ClickDocument:
    """Return a document with the dimensions of a visit, to copy and fill in.

    All fields are there, in order: adding the dimensions later takes 0.6 µs more.
    """
    fields: dict[str, Any] = dict.fromkeys(_FIELDS)
    fields |= {"unique": False, **values_of(country, agent)}
    return cast(ClickDocument, fields)


def _cost(click: Click, name: str | None) -> CostFields:
    """Return what the click says of its cost, else the link's."""
    if name and f"&{name}=" in f"&{click.query}":
        sent = _money(parameter(_whole_pairs(click.query), name))
        return {"cost_unknown": True} if sent is None else {"cost": sent}
    return {} if (of_link := _money(click.cost or "")) is None else {"cost": of_link}


@lru_cache(maxsize=CACHED_VISITS)
def _money(text: str) -> Decimal128 | None:
    cost = cost_in(text)
    return None if cost is None else Decimal128(cost)


def _of_few(click: Click) -> dict[str, object]:
    """Return what a redirect has decided and a page has told, which most clicks lack."""
    ids = {"rule_id": click.rule_id, "variant_id": click.variant_id}
    others = {"test": click.test, "consent": click.consent}
    found = {name: shared_id(one) for name, one in ids.items() if one is not None}
    return found | {name: one for name, one in others.items() if one}


def _own(query: str, fields: Mapping[str, str]) -> dict[str, str]:
    """Return the sender's own parameters as they are stored. The first of each name counts."""
    found: dict[str, str] = {}
    for name, raw in _own_pattern(tuple(fields)).findall(_whole_pairs(query)):
        if fields[name] not in found:
            text = raw if _PLAIN.fullmatch(raw) else _own_text(raw[: 12 * MAX_OWN_CHARACTERS])
            found[fields[name]] = text and f"{name}={text}"
    return {field: text for field, text in found.items() if text}


@lru_cache(maxsize=1000)
def _own_text(raw: str) -> str:
    text = text_of(raw, MAX_OWN_CHARACTERS)
    return "" if unfilled(text) else text


@lru_cache(maxsize=CACHED_VISITS)
def _own_pattern(names: Sequence[str]) -> re.Pattern[str]:
    return re.compile(rf"(?:^|&)({'|'.join(map(re.escape, names))})=([^&]*)")


def _parent_id(click: Click) -> StoredId | None:
    """Return the id of another click that the visitor brings."""
    if f"&{_PARENT}" not in f"&{click.query}":
        return None
    with suppress(BadRequest):
        found = parse_id(CLICK_ID, parameter(_whole_pairs(click.query), CLICK_ID)).bytes
        return None if found == click.id else StoredId(found)
    return None


def _ad_ids(query: str) -> dict[str, str]:
    """Return the ids that are no macros. The first of each name counts."""
    if not ("id=" in query or "oppref=" in query or "epik=" in query):
        return {}  # most clicks have none, and the search for all takes longer
    found, query = {}, _whole_pairs(query)
    for name in dict.fromkeys(_AD_ID.findall(query)):  # one may be there a thousand times
        text = parameter(query, name)
        if text.isprintable() and len(text) <= MAX_AD_ID_CHARACTERS and not unfilled(text):
            found[name] = text
    return {name: text for name, text in found.items() if text}


def _whole_pairs(query: str) -> str:
    """Return a query without the pair that may have been cut (`redirect`)."""
    return query if len(query) < MAX_QUERY_CHARACTERS else query.rpartition("&")[0]
