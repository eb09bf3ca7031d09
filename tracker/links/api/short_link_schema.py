"""The requests and answers of `/api/short-links`, and the rules of their fields."""

from typing import Annotated, Any, Final, Literal
from uuid import UUID

import msgspec
from msgspec import UNSET, Meta, UnsetType, field

from tracker.errors import BadRequest
from tracker.ids import SLUG, SLUG_RULE, parse_id
from tracker.links import destination
from tracker.links.api.cursors import MAX_CURSOR_CHARACTERS, PageStart, page_start_of
from tracker.links.api.option_schema import OptionsIn, check_options_in, options_of
from tracker.links.api.rules.checks import checked_url
from tracker.links.api.rules.schema import DestinationUrl
from tracker.links.api.short_link_record import ShortLink, WrittenShortLink
from tracker.links.lists.filter import LinkOrder, LinkState
from tracker.links.macros import check_macros
from tracker.links.options import check_options, check_paths
from tracker.links.utm import UTM
from tracker.syntax.invisible import stripped
from tracker.syntax.strict_json import parse_json
from tracker.web.export import FormatIn
from tracker.web.limits import (
    MAX_BULK_LINKS,
    MAX_FILTER_VALUES,
    MAX_SEARCH_CHARACTERS,
    MAX_TAGS,
    MAX_TEXT_CHARACTERS,
)
from tracker.web.schema import AccountId, AccountPage, FilterText, Page, Text, trimmed

InternalName = Annotated[
    str,
    Meta(
        description="label for the owner; default: host and path of the destination",
        extra_json_schema={"minLength": 1, "maxLength": MAX_TEXT_CHARACTERS},
    ),
]
Slug = Annotated[
    str,
    Meta(
        description="last part of the short URL, unique on its domain; default: random",
        extra_json_schema={"pattern": f"^{SLUG.pattern}$"},
    ),
]
EXAMPLE_LINK: Final = "0190b5a2-7c1e-7d3f-8a4b-5c6d7e8f9a1c"

UtmFilter = Annotated[
    list[FilterText],
    Meta(
        max_length=MAX_FILTER_VALUES,
        description="the links' own values; the value `none`: links without one",
    ),
]
TagIds = Annotated[list[UUID], Meta(max_length=MAX_TAGS, description="ids of tags")]


class NewShortLink(OptionsIn, forbid_unknown_fields=True, kw_only=True):
    """The fields of a link to create."""

    destination_url: DestinationUrl
    internal_name: InternalName | None = None
    slug: Slug | None = None
    domain_id: Annotated[UUID, Meta(description="custom domain; default: the service's")] | None = (
        None
    )
    active: bool = True
    tags: TagIds = field(default_factory=list)
    external_id: Text | UnsetType | None = UNSET

    def __post_init__(self) -> None:
        try:
            self._check()
        except BadRequest as error:
            raise ValueError(error.message) from error  # msgspec adds the path in the body

    def _check(self) -> None:
        _check_fields(self)
        options = options_of(self)
        check_options(options)
        check_paths(options.paths, self.domain_id)
        check_macros(destination.DESTINATION_FIELD, self.destination_url)
        if self.slug is not None:
            self.slug = stripped(self.slug)
            if not SLUG.fullmatch(self.slug):
                raise BadRequest(f"slug: {SLUG_RULE}")


class CreateShortLink(NewShortLink, forbid_unknown_fields=True, kw_only=True):
    """The link to create."""

    account_id: AccountId = field(name="accountId")


class CreateShortLinks(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """The links to create together."""

    account_id: AccountId = field(name="accountId")
    links: Annotated[list[NewShortLink], Meta(min_length=1, max_length=MAX_BULK_LINKS)]


class CreatedShortLinks(msgspec.Struct, kw_only=True):
    """The created links, in the order of the request."""

    rows: list[WrittenShortLink]


class ChangeShortLink(OptionsIn, forbid_unknown_fields=True, kw_only=True):
    """The fields of a link to change. Omitted fields stay."""

    destination_url: DestinationUrl | UnsetType = UNSET
    internal_name: InternalName | UnsetType = UNSET
    active: bool | UnsetType = UNSET
    tags: TagIds | UnsetType = UNSET
    external_id: Text | UnsetType | None = UNSET

    def __post_init__(self) -> None:
        _check_fields(self)


def _check_fields(body: NewShortLink | ChangeShortLink) -> None:
    """Check the fields of both creation and change. Raises BadRequest if one breaks a rule."""
    if isinstance(body.destination_url, str):
        body.destination_url = checked_url(destination.DESTINATION_FIELD, body.destination_url)
    if isinstance(body.internal_name, str):
        body.internal_name = trimmed("internal_name", body.internal_name)
    if isinstance(body.external_id, str):
        body.external_id = trimmed("external_id", body.external_id)
    if isinstance(body.tags, list):
        body.tags = list(dict.fromkeys(body.tags))
    check_options_in(body)


class ShortLinkPage(Page[ShortLink], kw_only=True):
    """A page of short links."""

    next_cursor: Annotated[
        str | None,
        Meta(
            description="cursor of the next page, which costs the same however many are before it; "
            "null on the last page"
        ),
    ]


class ListFilteredLinks(AccountPage, kw_only=True):
    """A page of links, and its filters."""

    selected_tags: Annotated[
        list[str],
        Meta(
            description="tag ids: repeated, with [] or [0], comma-separated or a JSON array",
        ),
    ] = field(default_factory=list, name="selectedTags")
    tag_operator: Annotated[
        Literal["OR", "AND"], Meta(description="OR: any of the selected tags; AND: all of them")
    ] = field(default="OR", name="tagOperator")
    search: Annotated[
        str,
        Meta(
            max_length=MAX_SEARCH_CHARACTERS,
            description="beginnings of words in slug, destination or name, ignoring case; a URL: "
            "destinations that begin with it",
        ),
    ] = ""
    slug: (
        Annotated[
            str,
            Meta(
                description="exactly this slug, on any domain",
                extra_json_schema={"pattern": f"^{SLUG.pattern}$"},
            ),
        ]
        | UnsetType
    ) = UNSET
    external_id: FilterText | UnsetType = UNSET
    active: Annotated[bool, Meta(description="default: both")] | UnsetType = UNSET
    archived: Annotated[bool, Meta(description="true: only archived links; false: none")] = False
    state: (
        Annotated[
            LinkState,
            Meta(
                description="scheduled: before starts_at; expired: after expires_at; "
                "used_up: after the last click; protected: with a password"
            ),
        ]
        | UnsetType
    ) = UNSET
    utm_source: UtmFilter = field(default_factory=list)
    utm_medium: UtmFilter = field(default_factory=list)
    utm_campaign: UtmFilter = field(default_factory=list)
    utm_term: UtmFilter = field(default_factory=list)
    utm_content: UtmFilter = field(default_factory=list)

    def tag_ids(self) -> list[UUID]:
        """Return the selected tags. Raises BadRequest if one is not an id or there are too many."""
        texts = [text for value in self.selected_tags for text in _tag_texts(value)]
        if len(texts) > MAX_TAGS:
            raise BadRequest(f"selectedTags: at most {MAX_TAGS}")
        return [parse_id("selectedTags", text) for text in texts]

    def utm(self) -> dict[str, list[str]]:
        given = {name: getattr(self, name) for name in UTM}
        return {name: values for name, values in given.items() if values}

    def __post_init__(self) -> None:
        self.tag_ids()
        if self.slug is not UNSET and not SLUG.fullmatch(self.slug):
            raise BadRequest(f"slug: {SLUG_RULE}")


class ListShortLinks(ListFilteredLinks, kw_only=True):
    """The page of links to list."""

    sort: Annotated[
        LinkOrder, Meta(description="name and slug ignore case, and 9 comes before 10")
    ] = "newest"
    cursor: (
        Annotated[
            str,
            Meta(
                max_length=MAX_CURSOR_CHARACTERS,
                description="the next_cursor of the page before, with the same sort; not with page",
            ),
        ]
        | UnsetType
    ) = UNSET
    format: FormatIn = UNSET

    def start(self) -> PageStart | None:
        """Return where the page begins; None without a cursor. Raises BadRequest if it is wrong."""
        if self.cursor is UNSET:
            return None
        if self.page > 1:
            raise BadRequest("page: not with cursor")
        return page_start_of(self.account_id, self.sort, self.cursor)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.start()


def _tag_texts(value: str) -> list[Any]:
    if not value.startswith("["):
        return [text.strip() for text in value.split(",") if text.strip()]
    texts = parse_json("selectedTags", value.encode())
    return texts if isinstance(texts, list) else [texts]
