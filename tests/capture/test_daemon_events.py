"""The ring of events and the streams on it: nothing lost unnoticed, nothing twice."""

import asyncio
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capture.daemon import events
from capture.daemon.events import Hub


class Follower:
    """Reads a stream as a browser does."""

    def __init__(self, hub, after=None):
        self.stream = hub.follow(after)
        self.ids, self.names, self.data, self.retries = [], [], [], []

    async def read(self, until):
        """Read until that event has come."""
        async for text in self.stream:
            fields = dict(line.split(": ", 1) for line in text.strip().splitlines())
            if "retry" in fields:
                self.retries.append(int(fields["retry"]))
                continue
            self.names.append(fields["event"])
            self.data.append(json.loads(fields["data"]))
            if "id" in fields:
                self.ids.append(fields["id"])
            if fields["event"] == until:
                return self
        return self

    async def close(self):
        await self.stream.aclose()


def followed(hub, after, until="last"):
    """Names of what a follower gets."""

    async def follow():
        hub.attach(asyncio.get_running_loop())
        follower = Follower(hub, after)
        await asyncio.wait_for(follower.read(until), 20)
        await follower.close()
        return follower

    return asyncio.run(follow())


@given(st.integers(1, 30), st.integers(1, 60), st.data())
def test_a_follower_gets_each_event_once_or_is_told(kept, published, data):
    hub = Hub("1", kept=kept)
    for number in range(published):
        hub.publish("state", number)
    after = data.draw(st.integers(0, published + 3))
    hub_events = hub.since(after)
    if after > published or published - after > kept:
        assert hub_events is None
    else:
        assert [event.seq for event in hub_events] == list(range(after + 1, published + 1))
        assert [json.loads(event.data) for event in hub_events] == list(range(after, published))


def test_the_stream_goes_on_exactly_behind_the_last_id():
    hub = Hub("1")
    for name in ("a", "b", "c", "last"):
        hub.publish(name, {})
    follower = followed(hub, f"{hub.boot}-2")
    assert [name for name in follower.names if name != "heartbeat"] == ["c", "last"]
    assert follower.ids == [f"{hub.boot}-3", f"{hub.boot}-4"]


@pytest.mark.parametrize(
    "after",
    ["0123456789ab-1", "-1", "1", "", "x-y", "{boot}-99", "{boot}--1", "{boot}-" + "9" * 40],
)
def test_what_is_not_of_this_boot_is_told_to_fetch_everything(after):
    hub = Hub("1")
    hub.publish("last", {})
    follower = followed(hub, after.format(boot=hub.boot), until="resync")
    assert follower.names == ["resync"]
    assert follower.data == [{"seq": 1}]
    assert follower.ids == [f"{hub.boot}-1"], "the browser comes back from here"


def test_a_slow_follower_loses_its_place_once_and_nobody_queues_for_it():
    hub = Hub("1", kept=10)

    async def slow():
        hub.attach(asyncio.get_running_loop())
        follower = Follower(hub)
        hub.publish("first", {})
        follower.stream = hub.follow(f"{hub.boot}-0")
        await follower.read("first")
        for number in range(1000):  # its socket is stalled meanwhile
            hub.publish("state", number)
        assert len(hub._ring) == 10
        hub.publish("last", {})
        await follower.read("resync")
        hub.publish("after", {})
        await follower.read("after")
        await follower.close()
        return [name for name in follower.names if name != "heartbeat"]

    assert asyncio.run(slow()) == ["first", "resync", "after"]


def test_the_heart_beats_by_name_with_the_version_and_without_a_number(monkeypatch):
    monkeypatch.setattr(events, "HEARTBEAT_S", 0.01)
    hub = Hub("1.2.3")

    async def follow():
        hub.attach(asyncio.get_running_loop())
        follower = Follower(hub)
        for _ in range(3):
            await asyncio.wait_for(follower.read("heartbeat"), 20)
        await follower.close()
        return follower

    follower = asyncio.run(follow())
    assert follower.names == ["heartbeat"] * 3
    assert {pulse["version"] for pulse in follower.data} == {"1.2.3"}
    assert {pulse["boot"] for pulse in follower.data} == {hub.boot}
    assert follower.ids == []
    assert len(hub.since(0)) == 0, "heartbeats stay out of the ring"


def test_streams_come_and_go_and_none_stays_behind():
    hub = Hub("1")

    async def come_and_go():
        hub.attach(asyncio.get_running_loop())
        unstarted = Follower(hub)
        followers = [Follower(hub) for _ in range(50)]
        hub.publish("a", {})
        for follower in followers:
            await follower.read("heartbeat")
        assert hub.followers == 50
        for follower in followers:
            await follower.close()
        await unstarted.close()
        return {retry for follower in followers for retry in follower.retries}

    retries = asyncio.run(come_and_go())
    assert hub.followers == 0
    assert not hub._sleepers
    assert len(retries) > 10, "they do not all come back at once"


def test_closing_ends_all_streams_also_those_that_come_later():
    hub = Hub("1")

    async def close():
        hub.attach(asyncio.get_running_loop())
        reading = [asyncio.create_task(Follower(hub).read("never")) for _ in range(3)]
        await asyncio.sleep(0.01)
        hub.close()
        await asyncio.wait_for(asyncio.gather(*reading), 20)
        await asyncio.wait_for(Follower(hub).read("never"), 20)

    asyncio.run(close())
    assert hub.followers == 0


def test_other_threads_wake_a_follower():
    hub = Hub("1")

    async def follow():
        loop = asyncio.get_running_loop()
        hub.attach(loop)
        reading = asyncio.create_task(Follower(hub).read("last"))
        await asyncio.sleep(0.01)
        await loop.run_in_executor(None, hub.publish, "last", {"a": "b\nc"})
        return await asyncio.wait_for(reading, 20)

    assert asyncio.run(follow()).data[-1] == {"a": "b\nc"}
    hub.publish("late", {})  # the loop is closed: nobody minds


def test_a_restart_cannot_fake_continuity():
    assert Hub("1").boot != Hub("1").boot
