"""Single parameters of a raw query string, which has one character for each byte. Pure."""

from urllib.parse import unquote_to_bytes


def parameter(query: str, name: str) -> str:
    """Return the first value of `name`, decoded; empty if there is none."""
    # Each click looks for two parameters, and nearly always neither is there.
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
