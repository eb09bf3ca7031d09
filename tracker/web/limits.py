"""The limits of requests to the API, for checks, error messages and the OpenAPI document.

Rooms below have their own limits: `syntax/url`, `links/hostnames`, `conversions/parameters`.
"""

from typing import Final

from tracker.limits.permits import PermitLimits
from tracker.syntax.url import MAX_CHARACTERS

MAX_BODY_BYTES: Final = 64 * 1024
"""The limit of a body, unless the endpoint declares another. The longest template fits."""

MAX_REPORT_BODY_BYTES: Final = 128 * 1024
"""The limit of a report's query. One filter with the most and longest values fits."""

MAX_BULK_BODY_BYTES: Final = 1024 * 1024
"""The limit of MAX_BULK_LINKS new links."""

LARGE_BODY_BYTES: Final = 16 * 1024
"""A longer body is parsed in a thread, once the scope is checked. The slowest text to parse takes
2 to 15 ms for these, 150 to 1,000 ms for a megabyte."""

MAX_UPLOAD_BYTES: Final = 200 * 1024 * 1024
"""The limit of a file that is stored while it is received, which the server allows at most."""

MAX_IGNORED_BODY_BYTES: Final = 64 * 1024
"""The limit of a body where none is expected; it is received and ignored."""

LARGE_BODIES: Final = PermitLimits(1, 1, 16, 64)
"""Large bodies that are parsed, or wait for that."""

LARGE_BODY_SECONDS: Final = 10

MAX_EVENT_BYTES: Final = 32 * 1024
"""The limit of the query or body of a conversion. 16 KB of metadata fit, even mostly escaped."""

MAX_PAGE_CLICK_BYTES: Final = 16 * 1024
"""The limit of the body of a page's click. The longest query of a click fits, and a referrer."""

MAX_SIGN_IN_BYTES: Final = 8 * 1024
"""The limit of the body of a stranger who signs in or joins an account."""

MAX_TOKEN_CHARACTERS: Final = 100
"""The limit of the token of a link, which has 43."""

MAX_REQUEST_ID_CHARACTERS: Final = 128
MAX_API_KEY_CHARACTERS: Final = 200

MAX_PARAMETERS: Final = 200
MAX_QUOTED_NAME_CHARACTERS: Final = 60
"""The part of an unknown parameter's name that an error message repeats."""

MAX_TEXT_CHARACTERS: Final = 255
MAX_TAG_NAME_CHARACTERS: Final = 190
MAX_URL_CHARACTERS: Final = MAX_CHARACTERS
MAX_SEARCH_CHARACTERS: Final = MAX_URL_CHARACTERS
"""The limit of a search, which may look for a whole destination."""

MAX_PAGE: Final = 10**9
MAX_PAGE_SIZE: Final = 100
DEFAULT_PAGE_SIZE: Final = 25

MAX_BULK_LINKS: Final = 100
MAX_BULK_CHANGES: Final = 500
"""The limit of the links that one request creates or changes."""

MAX_TAGS: Final = 100
"""The limit of the tags of a link, and of the tags by which links are listed."""

MAX_REPORT_DAYS: Final = 731
"""The limit of days in a report: two years, one of them a leap year."""

MAX_PANELS: Final = 26
"""The limit of the dimensions in an overview: all but own parameters, or some of both."""

MAX_PANEL_ROWS: Final = 250
"""The limit of rows of a panel: all hours of a week, or all countries of a map."""

MAX_VIEW_NAME_CHARACTERS: Final = 80
MAX_VIEW_QUERY_CHARACTERS: Final = 4000
MAX_SHARE_NAME_CHARACTERS: Final = 120
MAX_SHARE_TITLE_CHARACTERS: Final = 200

MAX_SHARE_BODY_BYTES: Final = 192 * 1024
"""The limit of a new share. A logo of 100 KB fits, in base64, beside the longest report."""

MAX_SHARED_REPORT_BYTES: Final = 16 * 1024
"""The limit of a stored report, as JSON. A page of MAX_PAGE_SIZE has 1.6 MB of them."""

DEFAULT_VALUE_DAYS: Final = 90
"""The days whose values are found for a filter, unless the request names days."""

MAX_FILTER_VALUES: Final = 100

PREFLIGHT_CACHE_SECONDS: Final = 24 * 3600
ASSET_CACHE_SECONDS: Final = 365 * 24 * 3600
