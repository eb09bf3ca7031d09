"""What a report reads of MongoDB."""

from collections import Counter

from tests.stores.mongodb.profiler import profiled
from tracker.reports.query import ReportQuery
from tracker.service.services import Services


async def read(services: Services, query: ReportQuery) -> Counter[str]:
    """Run a report; return the documents that it has read, by collection."""
    async with profiled(services.stores.mongodb.database) as rows:
        await services.reports.reports.run(query)
    found: Counter[str] = Counter()
    for row in rows:
        found[row["ns"].partition(".")[2]] += row.get("docsExamined", 0)
    return found
