"""Descriptions of variables for operators: in `--help`, and in the error for a wrong value."""

from typing import Any, Literal, get_args, get_origin

import msgspec

from config.variables import Variables


def describe() -> str:
    """Return the table that `python run.py --help` prints: name, type, default, meaning."""
    lines = []
    for field in msgspec.structs.fields(Variables):
        default = str(field.default)
        if isinstance(field.default, bool):
            default = default.lower()
        shown = f" [{default}]" if default else ""
        lines.append(f"  {field.encode_name} ({_type_name(field.type)}){shown}")
        lines.append(f"      {_meaning(field.type)}")
    return "\n".join(lines)


def is_choice(annotated: Any) -> bool:
    """Return whether a variable's type is a list of words."""
    return get_origin(annotated.__origin__) is Literal


def rule(annotated: Any) -> str:
    """Return the rule of a variable's type, as text to follow "must be"."""
    meta = annotated.__metadata__[0]
    if meta.pattern:
        return f"of the form {meta.pattern[2:-2]}"
    minimum = "" if meta.ge is None else f" from {meta.ge}"
    maximum = "" if meta.le is None else f" to {meta.le}"
    article = "a " if annotated.__origin__ in (int, float) else ""
    return f"{article}{_type_name(annotated)}{minimum}{maximum}"


def _type_name(annotated: Any) -> str:
    kind = annotated.__origin__
    if is_choice(annotated):
        return " or ".join(map(str, get_args(kind)))
    return {str: "text", int: "whole number", bool: "true or false", float: "number"}[kind]


def _meaning(annotated: Any) -> str:
    return str(annotated.__metadata__[0].description)
