"""Hooks of schemathesis, loaded by `fuzz.py`, that make its requests those of a real account.

The example of an account, postback key or slug becomes the only valid value, so that generated
requests get past 403 and 404. Invalid values are still generated.
"""

import json
import os
from typing import Any

import schemathesis
from schemathesis import HookContext

REAL = "FUZZ_REAL"
"""The variable that holds, as JSON, the real value for each example."""


@schemathesis.hook
def before_load_schema(context: HookContext, raw_schema: dict[str, Any]) -> None:
    real: dict[str, str] = json.loads(os.environ[REAL])
    text = json.dumps(raw_schema)
    for example, value in real.items():
        text = text.replace(example, value)
    raw_schema.update(_narrowed(json.loads(text), set(real.values())))


def _narrowed(node: Any, values: set[str]) -> Any:
    if isinstance(node, list):
        return [_narrowed(one, values) for one in node]
    if not isinstance(node, dict):
        return node
    examples = node.get("examples")
    if isinstance(examples, list) and values.issuperset(map(str, examples)):
        return {"type": "string", "enum": examples}
    return {name: _narrowed(one, values) for name, one in node.items()}
