"""Payloads of wild events."""

import json
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from hypothesis import strategies as st

from tracker.webhooks.macros import MACROS

# What others put in: text of all kinds, much of it made to look like macros and JSON.
WILD = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"])),
    st.text('{}"\\[],:.\n\0\u2028aev_lu<>&=%+ ', max_size=20),
    st.sampled_from([f"{{{name}}}" for name in MACROS] + ["{metadata.k}", '"}, "x": {"y": "']),
)


def as_json(value: Any) -> str:
    """Return the value as JSON, encoded independently because numbers have to keep their digits."""
    if isinstance(value, Mapping):
        return "{" + ",".join(f"{as_json(k)}:{as_json(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(as_json, value)) + "]"
    if isinstance(value, Decimal):
        return str(value)
    return json.dumps(value, ensure_ascii=False)
