"""The people, campaigns, links and visitors of the sample account."""

from collections.abc import Sequence
from typing import Final, NamedTuple
from urllib.parse import urlencode
from uuid import UUID

from tracker.access.roles import Role
from tracker.links.rules.rule import Condition, Rule, Split, Variant

PEOPLE: Final = (
    ("Ada Lindgren", "ada@acme.example", Role.OWNER),
    ("Noor Haddad", "noor@acme.example", Role.EDITOR),
    ("Tomás Silva", "tomas@acme.example", Role.VIEWER),
)
TAGS: Final = ("Spring sale", "Newsletter", "Partners", "Podcast", "Retargeting")


class Campaign(NamedTuple):
    """A campaign: the `utm` values of its links, and the pages that visitors come from."""

    source: str
    medium: str
    name: str
    referrers: Sequence[str]

    def query(self, content: str) -> str:
        values = {"source": self.source, "medium": self.medium, "campaign": self.name}
        return urlencode(
            {f"utm_{name}": value for name, value in values.items()} | {"utm_content": content}
        )


SPRING_SITE: Final = Campaign("site", "banner", "spring-sale", ("https://acme.example/", ""))
SPRING_MAIL: Final = Campaign("mail", "email", "spring-sale", ("",))
NEWS: Final = Campaign("newsletter", "email", "weekly-news", ("", "https://mail.google.com/"))
REVIEWS: Final = Campaign(
    "reviews",
    "affiliate",
    "trail-shoes",
    ("https://www.google.com/", "https://news.example/outdoor", "https://trail.example/shoes"),
)
PARTNERS: Final = Campaign(
    "partner", "affiliate", "partners-autumn", ("https://nordic.example/", "https://club.example/")
)
PODCAST: Final = Campaign("podcast", "audio", "listeners", ("",))
REMINDERS: Final = Campaign(
    "ads", "cpc", "come-back", ("https://www.facebook.com/", "https://www.instagram.com/", "")
)

LINKS: Final = (
    ("Spring sale, home page", "spring", "https://shop.acme.example/sale", 0, SPRING_SITE),
    ("Spring sale, newsletter", "spring-mail", "https://shop.acme.example/sale", 0, SPRING_MAIL),
    ("Newsletter 46", "nl46", "https://shop.acme.example/new", 1, NEWS),
    ("Newsletter 45", "nl45", "https://shop.acme.example/new", 1, NEWS),
    ("Running shoes, review", "shoes", "https://shop.acme.example/shoes/trail-9", 2, REVIEWS),
    ("Partner: Nordic Outdoor", "nordic", "https://shop.acme.example/?p=nordic", 2, PARTNERS),
    ("Partner: Trail Club", "trailclub", "https://shop.acme.example/?p=trailclub", 2, PARTNERS),
    ("Podcast, episode 12", "pod12", "https://shop.acme.example/podcast?code=POD12", 3, PODCAST),
    ("Podcast, episode 11", "pod11", "https://shop.acme.example/podcast?code=POD11", 3, PODCAST),
    ("Cart reminder", "cart", "https://shop.acme.example/cart", 4, REMINDERS),
    ("App download", "app", "https://acme.example/app?c={country}", 4, REMINDERS),
    ("Gift cards", "gifts", "https://shop.acme.example/gift-cards", 0, SPRING_SITE),
)
SPLIT_LINK: Final = 4
"""The link with a rule for the app's users, and a split of all others."""

APP_RULE: Final = Rule(
    id=UUID("0190b5a2-7c1e-7d3f-8a4b-5c6d7e8f9b01"),
    name="iPhones in Germany, to the app",
    conditions=[Condition(os=["iOS"]), Condition(country=["DE"])],
    destination_url="https://acme.example/app?from=review",
)
SPLIT: Final = Split(
    variants=[
        Variant(
            id=UUID(f"0190b5a2-7c1e-7d3f-8a4b-5c6d7e8f9c0{number}"),
            name=name,
            destination_url=f"https://shop.acme.example/shoes/trail-9{query}",
            weight=50,
        )
        for number, (name, query) in enumerate((("Photos first", ""), ("Video", "?page=video")))
    ],
    secret="5f" * 16,
)
CONTENTS: Final = ("header", "picture", "button")
CONVERSION_RATES: Final = {REVIEWS.name: 0.085, SPRING_MAIL.name: 0.05, PARTNERS.name: 0.04}
OTHER_RATE: Final = 0.02
HOUR_WEIGHTS: Final = (
    *(2, 1, 1, 1, 1, 2, 4, 7, 9, 9, 9, 10),
    *(12, 11, 9, 9, 9, 10, 12, 15, 17, 15, 9, 5),
)
"""Visitors by the hour of a day in UTC."""

AGENT_WEIGHTS: Final = (36, 20, 26, 6, 4, 1, 4, 1, 1, 1, 3, 0)
"""Visitors by the user agents that every load has."""

COUNTRIES: Final = {
    "DE": 38, "SE": 14, "US": 11, "FR": 8, "NL": 7, "AT": 5, "NO": 4, "DK": 3, "GB": 3, "CH": 3,
    "BR": 2, "JP": 2, "PL": 2, "ES": 2, "IT": 2, "CA": 1, "AU": 1, "IN": 1, "ZA": 0.5, "SG": 0.5,
}  # fmt: skip
"""Countries and their share of visitors."""

TARGET: Final = "https://hooks.acme.example/tracker"
