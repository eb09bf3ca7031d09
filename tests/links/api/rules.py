"""Rules and splits as clients send them."""

from typing import Any

LANDING_A = "https://a.example/"
LANDING_B = "https://b.example/"


def rule(name: str = "Germans", **fields: Any) -> dict[str, Any]:
    """Return a rule with a destination, unless `fields` have a split."""
    given: dict[str, Any] = {"name": name, "conditions": [{"country": ["DE"]}], **fields}
    return given if "split" in given else {"destination_url": LANDING_A, **given}


def split(**variants: int) -> dict[str, Any]:
    """Return a split of these weights by name."""
    return {
        "variants": [
            {"name": name, "destination_url": f"https://{name}.example/", "weight": weight}
            for name, weight in (variants or {"a": 1, "b": 1}).items()
        ]
    }


def without_ids(part: Any) -> Any:
    """Return rules or splits as they were sent, if they were sent without ids."""
    if isinstance(part, list):
        return [without_ids(one) for one in part]
    if not isinstance(part, dict):
        return part
    sent = {name: without_ids(one) for name, one in part.items() if name != "id"}
    if sent.get("active"):
        del sent["active"]
    return sent
