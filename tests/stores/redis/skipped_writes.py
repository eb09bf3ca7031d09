"""Writes that a full Redis refused."""

from tracker import metrics


def skipped_writes(kind: str) -> float:
    counted = metrics.REGISTRY.get_sample_value(
        "tracker_redis_optional_writes_skipped_total", {"kind": kind}
    )
    return counted or 0.0
