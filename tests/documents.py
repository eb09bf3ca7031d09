"""The documents of the repository, and readers of their examples and tables for tests."""

import re

from tests.paths import ROOT

ARCHITECTURE = "ARCHITECTURE.md"
DECISIONS = sorted(f"docs/decisions/{path.name}" for path in ROOT.glob("docs/decisions/*.md"))
README, API, REPORTS = "README.md", "docs/api.md", "docs/reports.md"
WEBHOOKS, OPERATIONS, SECURITY = "docs/webhooks.md", "docs/operations.md", "docs/security.md"
CONSOLE, DEPLOY, CAPACITY = "docs/console.md", "docs/deploy.md", "docs/capacity.md"
UPGRADING, MOVING, MCP = "docs/upgrading.md", "docs/moving.md", "docs/mcp.md"
INTEGRATIONS = "docs/integrations.md"
DOCUMENTS = sorted(
    path.relative_to(ROOT).as_posix() for path in (*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"))
)
GUIDES = (
    *(README, API, REPORTS, WEBHOOKS, OPERATIONS),
    *(SECURITY, CONSOLE, DEPLOY, CAPACITY, UPGRADING, MOVING, MCP, INTEGRATIONS),
)


def text(document: str) -> str:
    """Return the text of a document, named by its path in the repository."""
    return (ROOT / document).read_text(encoding="utf-8")


def blocks(document: str) -> list[str]:
    """Return the blocks of code, in order."""
    return re.findall(r"^```\w*\n(.*?)^```", text(document), re.MULTILINE | re.DOTALL)


def block(document: str, beginning: str) -> str:
    """Return the block of code with this beginning.

    `test_document_blocks` finds the tests of a block by their calls, so the text is written there.
    """
    [found] = [one for one in blocks(document) if one.startswith(beginning)]
    return found


def table(document: str, header: str) -> list[list[str]]:
    """Return the cells of each row of the first table whose header begins with `header`."""
    rows = text(document).partition(f"\n| {header} |")[2].partition("\n\n")[0].splitlines()[2:]
    return [row.strip("| ").split(" | ") for row in rows]


def named(document: str, header: str) -> set[str]:
    """Return the names in backquotes in the first column of a table."""
    return {name for row in table(document, header) for name in re.findall(r"`([^`]+)`", row[0])}
