"""Reading single parameters of a raw query string, one character for each byte. Pure."""

from urllib.parse import unquote_to_bytes


def parameter(query: str, name: str) -> str:
    """The first value of `name`, decoded; empty if it has none."""
    # Nearly always it is not there, and each click is asked for two.
    if f"&{name}=" not in query and "%" not in query and not query.startswith(f"{name}="):
        return ""
    for pair in query.split("&"):
        key, _, value = pair.partition("=")
        if key == name or ("%" in key and _decoded(key) == name):
            return _decoded(value)
    return ""


def _decoded(text: str) -> str:
    raw = text.replace("+", " ").encode("latin-1")
    return unquote_to_bytes(raw).decode(errors="replace")
