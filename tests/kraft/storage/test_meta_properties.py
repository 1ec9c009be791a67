from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkapy.core.errors import Corrupt
from kafkapy.core.time import Instant
from kafkapy.kraft.storage.meta_properties import MetaProperties, parse_meta_properties
from tests.kraft import fixtures

KAFKAS = MetaProperties("MkU3OEVBNTcwNTJENDM2Qg", 1, UUID("73546667-a3b7-438a-878e-e3c1e3796748"))


def test_kafkas_file_is_read() -> None:
    assert parse_meta_properties(fixtures.read("after-format/meta.properties")) == KAFKAS


def test_the_file_is_written_as_java_writes_it() -> None:
    # Kafka's file says 12:51:38 UTC, which was 1795006298 seconds after 1970.
    assert KAFKAS.render(Instant(1_795_006_298_123)) == fixtures.read(
        "after-format/meta.properties"
    )


def test_version_0_names_the_broker() -> None:
    old = parse_meta_properties(b"broker.id=7\ncluster.id=c\n")
    assert old == MetaProperties("c", 7, None, version=0)
    assert parse_meta_properties(old.render(Instant(0))) == old


def test_properties_have_javas_syntax() -> None:
    text = b"! note\n  version : 1\nnode.id 5\r\ncluster.id=a\\:b\\\n   c\\u0021\nunknown=1\n\n"
    assert parse_meta_properties(text) == MetaProperties("a:bc!", 5, None)


@given(st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1))
def test_any_cluster_id_survives(cluster_id: str) -> None:
    properties = MetaProperties(cluster_id, 0, None)
    assert parse_meta_properties(properties.render(Instant(0))) == properties


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (b"version=2\n", "version 2 is not known"),
        (b"version=1\nnode.id=1\n", "cluster.id is missing"),
        (b"version=1\ncluster.id=c\n", "node.id is missing"),
        (b"version=1\ncluster.id=c\nnode.id=one\n", "node.id=one is not a number"),
        (b"version=one\n", "version=one"),
        (b"version=1\ncluster.id=c\nnode.id=1\ndirectory.id=x\n", "'x' is not a UUID"),
        (b"\xff\xfe", "not text"),
    ],
)
def test_nonsense_is_corrupt_and_says_why(text: bytes, complaint: str) -> None:
    with pytest.raises(Corrupt, match=complaint):
        parse_meta_properties(text)
