"""Rules and splits in a few words, for the audit log. Pure."""

from tracker.access.audit import FieldChange
from tracker.links.link import Link
from tracker.links.rules.rule import Split


def rule_changes(before: Link, after: Link) -> dict[str, FieldChange]:
    """Return what has changed, with names and weights. The rest is in the versions of the rules."""
    changes = {}
    if before.rules != after.rules:
        changes["rules"] = _change(_rules(before), _rules(after))
    if before.split != after.split:
        changes["split"] = _change(_split(before.split), _split(after.split))
    return changes


def _change(before: str | None, after: str | None) -> FieldChange:
    is_within = before is not None and before == after
    return FieldChange(before=before, after=f"{after} (changed)" if is_within else after)


def _rules(link: Link) -> str | None:
    texts = (one.name + (f" ({_split(one.split)})" if one.split else "") for one in link.rules)
    return ", ".join(texts) or None


def _split(split: Split | None) -> str | None:
    if split is None:
        return None
    weights = (f"{one.weight}" if one.active else "inactive" for one in split.variants)
    names = (one.name for one in split.variants)
    return ", ".join(f"{name} {weight}" for name, weight in zip(names, weights, strict=True))
