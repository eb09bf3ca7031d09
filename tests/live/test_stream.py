import pytest

from tracker.live.stream import MAX_WAITING, LiveEvent, LiveStream, StreamEnd

EVENT = LiveEvent("clicks", StreamEnd("too_slow"))


async def told(stream: LiveStream) -> list[str]:
    """Return what a stream that has ended still sends."""
    return [event.text.decode() async for event in stream]


@pytest.mark.parametrize("waiting", [0, 1, MAX_WAITING])
async def test_a_stream_that_has_ended_sends_only_the_reason(waiting: int) -> None:
    stream = LiveStream()
    for _ in range(waiting):
        stream.put(EVENT)
    stream.end("access_ended")
    stream.put(EVENT)
    stream.end("too_slow")
    assert await told(stream) == ['event: end\ndata: {"reason":"access_ended"}\n\n']


async def test_a_stream_whose_client_is_too_slow_ends() -> None:
    stream = LiveStream()
    for _ in range(MAX_WAITING):
        stream.put(EVENT)
    assert not stream.ended.is_set()
    stream.put(EVENT)
    assert await told(stream) == ['event: end\ndata: {"reason":"too_slow"}\n\n']


def test_an_event_is_encoded_once_for_all_streams() -> None:
    assert EVENT.text is EVENT.text
