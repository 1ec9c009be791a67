"""What users, client ids and addresses may use, in the metadata."""

import pytest

from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.kraft.controller.access.client_quotas import AlterClientQuotas, Entity, QuotaChange
from kafkapy.kraft.records.metadata import QuotaEntity
from tests.kraft.controller.fakes import Cluster


def entity(**parts: str | None) -> Entity:
    return tuple(
        QuotaEntity(entity_type=kind.replace("_", "-"), entity_name=name)
        for kind, name in parts.items()
    )


def change(whose: Entity, **values: float | None) -> QuotaChange:
    return QuotaChange(whose, tuple(values.items()))


ALICE = entity(user="alice")


def test_quotas_are_set_changed_and_removed() -> None:
    cluster = Cluster()
    cluster.ask(
        AlterClientQuotas(
            (
                change(ALICE, producer_byte_rate=1000, request_percentage=12.5),
                change(entity(ip=None), connection_creation_rate=5),
            )
        )
    )
    assert cluster.image.quotas == {
        ALICE: {"producer_byte_rate": 1000, "request_percentage": 12.5},
        entity(ip=None): {"connection_creation_rate": 5},
    }
    cluster.ask(AlterClientQuotas((change(ALICE, producer_byte_rate=None, consumer_byte_rate=7),)))
    assert cluster.image.quotas[ALICE] == {"request_percentage": 12.5, "consumer_byte_rate": 7}
    cluster.ask(
        AlterClientQuotas((change(ALICE, consumer_byte_rate=None, request_percentage=None),))
    )
    assert ALICE not in cluster.image.quotas


def test_what_is_as_it_was_makes_no_record() -> None:
    cluster = Cluster()
    asked = AlterClientQuotas((change(ALICE, producer_byte_rate=1000),))
    assert len(cluster.records_of(asked)) == 1
    assert cluster.records_of(asked) == []
    assert cluster.records_of(AlterClientQuotas((change(ALICE, request_percentage=None),))) == []


def test_an_entity_is_one_whatever_the_order_of_its_parts() -> None:
    cluster = Cluster()
    cluster.ask(AlterClientQuotas((change(entity(user="a", client_id="b"), request_percentage=1),)))
    cluster.ask(AlterClientQuotas((change(entity(client_id="b", user="a"), request_percentage=2),)))
    assert list(cluster.image.quotas.values()) == [{"request_percentage": 2}]


def test_a_change_that_is_only_to_be_judged_changes_nothing() -> None:
    cluster = Cluster()
    asked = AlterClientQuotas((change(ALICE, producer_byte_rate=1000),), validate_only=True)
    assert cluster.records_of(asked) == []


@pytest.mark.parametrize(
    "wrong",
    [
        change((), producer_byte_rate=1),
        change(entity(user=""), producer_byte_rate=1),
        change(entity(planet="x"), producer_byte_rate=1),
        change(entity(ip="10.0.0.1", user="a"), connection_creation_rate=1),
        change(entity(ip="no.such"), connection_creation_rate=1),
        change(entity(ip=None), producer_byte_rate=1),
        change(ALICE, connection_creation_rate=1),
        change(ALICE, producer_byte_rate=0),
        change(ALICE, producer_byte_rate=-1),
        change(ALICE, producer_byte_rate=1.5),
        change(ALICE, request_percentage=float("nan")),
        change(ALICE, speed=1),
        QuotaChange(ALICE, (("request_percentage", 1), ("request_percentage", 2))),
    ],
)
def test_what_cannot_be_is_refused_by_itself(wrong: QuotaChange) -> None:
    cluster = Cluster()
    other = entity(user="bob")
    reply = cluster.ask(AlterClientQuotas((wrong, change(other, request_percentage=0.5))))
    assert isinstance(reply[wrong.entity], Refused)
    assert reply[wrong.entity].code is ErrorCode.INVALID_REQUEST
    assert reply[other] is None
    assert list(cluster.image.quotas) == [other]
