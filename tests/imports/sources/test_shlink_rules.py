"""Rules of Shlink: what each of its conditions becomes, and what is left out."""

from typing import Any

import msgspec

from tracker.imports.sources.shlink_rules import rules_of

URL = "https://ex.test/i"


def condition(kind: str, value: str | None = None, key: str | None = None) -> dict[str, Any]:
    return {"type": kind, "matchKey": key, "matchValue": value}


def rule(*conditions: dict[str, Any], url: str = URL, priority: int = 1) -> dict[str, Any]:
    return {"longUrl": url, "priority": priority, "conditions": conditions}


LIKE = [
    ("device", None, "ios", {"os": ["iOS"]}),
    ("device", None, "android", {"os": ["Android"]}),
    ("device", None, "windows", {"os": ["Windows"]}),
    ("device", None, "macos", {"os": ["macOS"]}),
    ("device", None, "linux", {"os": ["Linux"]}),
    ("device", None, "chromeos", {"os": ["Chrome OS"]}),
    ("device", None, "mobile", {"device": ["mobile", "tablet"]}),
    ("device", None, "desktop", {"device": ["desktop"]}),
    ("browser", None, "android_browser", {"browser": ["Android Browser"]}),
    ("browser", None, "chrome", {"browser": ["Chrome"]}),
    ("browser", None, "edge", {"browser": ["Edge"]}),
    ("browser", None, "firefox", {"browser": ["Firefox"]}),
    ("browser", None, "opera", {"browser": ["Opera"]}),
    ("browser", None, "safari", {"browser": ["Safari"]}),
    ("language", None, "en_GB", {"language": ["en-GB"]}),
    ("query-param", "q", "V", {"query": {"key": "q", "values": ["V"]}}),
    ("any-value-query-param", "q", None, {"query": {"key": "q"}}),
    ("valueless-query-param", "q", None, {"query": {"key": "q", "values": ["", "0"]}}),
    ("ip-address", None, "192.0.2.7", {"ip": ["192.0.2.7/32"]}),
    ("ip-address", None, "192.0.2.7/24", {"ip": ["192.0.2.0/24"]}),
    ("ip-address", None, "10.2.*.*", {"ip": ["10.2.0.0/16"]}),
    ("ip-address", None, "10.*", {"ip": ["10.0.0.0/8"]}),
    ("geolocation-country-code", None, "de", {"country": ["DE"]}),
    (
        "before-date",
        None,
        "2026-12-24T18:00:59+01:00",
        {"time": {"zone": "UTC", "to": "2026-12-24T17:00"}},
    ),
    (
        "after-date",
        None,
        "2026-12-24T18:00:00Z",
        {"time": {"zone": "UTC", "from": "2026-12-24T18:00"}},
    ),
]
"""Of each kind of condition, key and value: the condition here."""

UNLIKE = [
    [],
    [condition("geolocation-city-name", "Berlin")],
    [condition("device", "toaster")],
    [condition("browser", "lynx")],
    [condition("language", "*")],
    [condition("any-value-query-param")],
    [condition("ip-address", "10.*.2.*")],
    [condition("geolocation-country-code", "ZZ")],
    [condition("before-date")],
    [condition("after-date", "soon")],
]


def test_each_condition_has_its_like() -> None:
    for kind, key, value, expected in LIKE:
        found = rules_of([rule(condition(kind, value, key))])
        name = " ".join(filter(None, (kind, key, value)))
        made = {"name": name, "destination_url": URL, "conditions": [expected]}
        assert (msgspec.to_builtins(found.rules), found.losses) == ([made], [])


def test_a_rule_of_which_a_part_has_no_like_is_left_out_as_a_whole_and_told() -> None:
    kept = condition("device", "ios")
    for conditions in UNLIKE:
        found = rules_of([rule(kept), rule(*(kept for _ in conditions), *conditions)])
        assert [one.name for one in found.rules] == ["device ios"]
        [loss] = found.losses
        assert loss.field == "redirectRules" and URL in loss.reason
        assert all(one["type"] in loss.reason for one in conditions)


def test_rules_keep_their_order_and_all_their_conditions() -> None:
    both = condition("language", "es"), condition("device", "android")
    found = rules_of([rule(*both, priority=2), rule(condition("device", "ios"), priority=1)])
    assert [one.name for one in found.rules] == [
        "device ios",
        "language es and device android",
    ]
    assert len(found.rules[1].conditions) == 2


def test_a_destination_of_another_scheme_and_rules_beyond_the_limit_are_left_out() -> None:
    many = [rule(condition("query-param", str(n), "q"), priority=n) for n in range(21)]
    found = rules_of([rule(condition("device", "ios"), url="app://x", priority=-1), *many])
    assert [one.name for one in found.rules] == [f"query-param q {n}" for n in range(20)]
    [scheme, beyond] = found.losses
    assert "must be an absolute http or https URL" in scheme.reason
    assert "at most 20 rules" in beyond.reason


def test_rules_beyond_the_size_of_a_link_are_left_out() -> None:
    url = f"https://ex.test/{'x' * 2000}"
    found = rules_of([rule(condition("query-param", str(n), "q"), url=url) for n in range(18)])
    assert len(found.rules) == 15
    assert all("at most 32,768 bytes of JSON" in loss.reason for loss in found.losses)
