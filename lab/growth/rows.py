"""The rows of the table, with their bounds. Pure."""

from typing import Final, Literal, NamedTuple

Direction = Literal["links", "lists", "reports", "months", "accounts", "receivers"]


class Row(NamedTuple):
    """A figure in `unit` at two sizes; a factor is the large one as a multiple of the small one."""

    key: str
    direction: Direction
    name: str
    unit: str
    max_factor: float | None = None
    min_factor: float | None = None
    max_large: float | None = None
    min_large: float | None = None

    @property
    def bounds(self) -> list[tuple[str, float, str]]:
        """Return a sign, a bound and its unit each; that of a factor is `x`."""
        bounds = (
            ("<=", self.max_factor, "x"),
            (">=", self.min_factor, "x"),
            ("<=", self.max_large, self.unit),
            (">=", self.min_large, self.unit),
        )
        return [(sign, bound, unit) for sign, bound, unit in bounds if bound is not None]


_CLICK: Final = "us a click"

ROWS: Final = (
    Row("random-links", "links", "click on random links; on one", _CLICK, max_factor=2.2),
    Row("random-hosts", "links", "click on random domains; on one", _CLICK, max_factor=2.5),
    Row("redis-only", "links", "web and Redis: links in Redis; in memory", _CLICK, max_factor=1.5),
    Row("p99", "links", "p99 at 400/s of random links; of one", "ms", max_factor=3),
    Row("slow-rate", "links", "click at 400/s on random links; on one", _CLICK, max_large=350),
    Row("seen", "links", "p99 until a report counts a click, at 400/s", "s", max_large=1),
    Row("redis-bytes", "links", "Redis, beside the destination", "bytes a link", max_large=160),
    Row("web-bytes", "links", "memory of the web process", "bytes a link", max_large=400),
    Row("index-bytes", "links", "indexes of links in MongoDB", "bytes a link"),
    Row("first-page", "lists", "links, first page", "ms", max_factor=1.5, max_large=25),
    Row("last-page", "lists", "links, last page", "ms", max_large=1000),
    Row("one-tag", "lists", "links with a tag", "ms", max_factor=1.5, max_large=25),
    Row("inactive", "lists", "links with active=false", "ms", max_factor=1.5, max_large=25),
    Row("by-name", "lists", "links by name", "ms", max_factor=1.5, max_large=25),
    Row("tag-by-name", "lists", "links with a tag, by name", "ms", max_factor=1.5, max_large=25),
    Row("middle", "lists", "active links by name, a page in the middle", "ms", max_large=1000),
    Row("tags", "lists", "20 tags with their links", "ms", max_factor=1.5, max_large=25),
    Row("two-tags", "lists", "links with both of two tags", "ms", max_large=100),
    Row("two-tags-name", "lists", "the same, by name", "ms", max_large=100),
    Row("no-utm", "lists", "links without utm_source, by name", "ms", max_large=100),
    Row("no-utm-tag", "lists", "the same with a tag", "ms", max_large=100),
    Row("tag-inactive", "lists", "links with a tag and active=false", "ms", max_large=100),
    Row("search", "lists", "search without a match", "ms", max_large=100),
    Row("csv", "lists", "CSV, newest first", "us a row", max_large=40),
    Row("csv-by-name", "lists", "CSV by name", "us a row", max_large=40),
    Row("today-by-link", "reports", "today by link, each clicked", "ms", max_large=150),
    Row("today-by-tag", "reports", "today by tag", "ms", max_large=2000),
    Row("today-of-a-tag", "reports", "today by country, of one tag", "ms", max_large=2000),
    Row("overview", "reports", "overview of a link, all clicks today", "ms", max_large=50),
    Row("overview-first", "reports", "the same, first look", "ms", max_large=300),
    Row("overview-burst-first", "reports", "the same, before drains count ahead", "ms"),
    Row("month", "months", "a month by country", "ms", max_factor=1.5, max_large=25),
    Row("month-by-link", "months", "a month by link", "ms", max_large=100),
    Row("month-crossed", "months", "a month: browsers of US phones", "ms", max_large=100),
    Row("month-crossed-first", "months", "the same, first look", "ms", max_large=2_000),
    Row("month-overview", "months", "a month: overview of one country", "ms", max_large=300),
    Row("strangers", "months", "a day of as many campaigns as clicks; of one", "ms", max_large=500),
    Row("strangers-crossed", "months", "the same: devices of a country", "ms", max_factor=1.5),
    Row("year", "months", "a year by link, of 20,000 links", "ms", max_large=500),
    Row("two-years", "months", "two years by country", "ms", max_large=25),
    Row("clicks", "accounts", "click on a link of many accounts; of ten", _CLICK, max_factor=3),
    Row("conversions", "accounts", "conversion of many; of ten", "us each", max_factor=3),
    Row("idle", "accounts", "processor without traffic", "% of a core", max_large=3),
    Row("deliveries", "receivers", "deliveries of a backlog", "a second", min_factor=0.8),
    Row("one-webhook", "receivers", "deliveries to one webhook", "a second", min_large=500),
    Row("fresh", "receivers", "p95 of another account's meanwhile", "s", max_large=1),
    Row("retries", "receivers", "processor for retries of tomorrow", "% of a core", max_large=1),
    Row("slow", "receivers", "deliveries that take a second", "a second", min_large=400),
)
