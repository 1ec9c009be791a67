"""Where a follower cuts its log (KIP-101): at the end of its leader's epoch, whatever it knows to
be committed."""

from typing import Any

import pytest

from kafkapy.broker.replication import fetcher
from kafkapy.protocol.api_keys import ApiKey
from tests.sim.cluster.kit import ALL, Kit


def test_what_is_committed_survives_a_follower_that_has_not_heard_so() -> None:
    _second_leader_dies_when_the_last_one_has_cut(Kit(1, ("broker",) * 3 + ("controller",)))


def test_a_follower_that_cuts_to_its_high_watermark_is_caught(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The lie that leader epochs are there for: one run is enough."""
    monkeypatch.setattr(
        fetcher, "truncation_offset", lambda log, *_: min(log.high_watermark, log.log_end_offset)
    )
    with pytest.raises(AssertionError, match=r"b.committed"):
        _second_leader_dies_when_the_last_one_has_cut(Kit(1, ("broker",) * 3 + ("controller",)))


def test_who_led_without_writing_says_nothing_of_a_cut() -> None:
    """The next leader does not know its epoch, and it forgets it: no record goes."""
    kit = Kit(2, ("broker",) * 3 + ("controller",))
    kit.lead([1, 2, 3])
    assert kit.produce(b"value")
    kit.wait_for_all_in_sync()
    kit.lead([2, 1, 3])
    kit.lead([1, 2, 3])
    kit.lead([3, 1, 2])
    kit.wait_for_all_in_sync()
    for host in kit.world.brokers:
        assert not host.journal.said("log truncated to its leader's")
    kit.check()


def _second_leader_dies_when_the_last_one_has_cut(kit: Kit) -> None:
    """One record is on all three, and acknowledged; the last one does not know, and has another
    that only the dead leader had. It cuts that off, and then has to lead."""
    kit.lead([1, 2, 3])
    first, second, last = (kit.world.hosts[node_id] for node_id in (1, 2, 3))
    kit.wait_for_all_in_sync()
    network = kit.world.network
    network.cut(second.name, first.name)  # it gets the record, and cannot say so
    heard = _send(kit, b"committed", ALL)
    kit.wait(lambda: _end(kit, second) == _end(kit, last) == 1)
    network.cut(first.name, second.name)
    _send(kit, b"not committed", 1)
    kit.wait(lambda: _end(kit, last) == 2)
    network.mend(second.name, first.name)
    kit.wait(lambda: bool(heard))
    assert heard[0].responses[0].partition_responses[0].error_code == 0
    kit.acknowledged.append(b"committed")
    assert kit.partition(last).log.high_watermark == 0
    first.kill()
    kit.wait(lambda: _end(kit, last) < 2)
    assert kit.leader() is second
    second.kill()
    kit.wait(lambda: kit.partition(last).is_leader)
    network.heal()
    for host in (first, second):
        host.start()
    kit.produce_until_acknowledged(b"after")
    kit.check()


def _send(kit: Kit, value: bytes, acks: int) -> list[Any]:
    """To the first one; what it answers, once it does."""
    heard: list[Any] = []
    kit.client.send(1, ApiKey.PRODUCE, kit.to_produce(value, acks), heard.append)
    return heard


def _end(kit: Kit, host: Any) -> int:
    return int(kit.partition(host).log.log_end_offset)
