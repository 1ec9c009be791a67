"""Ids, versions, levels, modes: what registering makes true."""

from __future__ import annotations

import random

import pytest

from kafkapy.http.registry import registering
from kafkapy.http.registry.configs import Level
from kafkapy.http.registry.entities import Schema, SchemaId, SchemaType, Version, properties_of
from kafkapy.http.registry.errors import ErrorCode, RegistryError
from kafkapy.http.registry.records import encode
from kafkapy.http.registry.state import State
from tests.http.registry.deciding import World, avro, referring

A, AB, ABC = avro("a"), avro("a", "b"), avro("a", "b", "c")
STRING, INT = Schema(SchemaType.AVRO, '"string"'), Schema(SchemaType.AVRO, '"int"')


def code_of(caught: pytest.ExceptionInfo[RegistryError]) -> ErrorCode:
    return caught.value.code


def test_the_same_schema_has_one_id_under_all_subjects() -> None:
    world = World()
    assert world.register("one", A) == (1, 1)
    assert world.register("one", AB) == (2, 2)
    assert world.register("two", AB) == (2, 1)
    assert world.register("one", A) == (1, 1)
    assert len(world.written) == 3


def test_each_context_has_ids_of_its_own() -> None:
    world = World()
    world.register("s", A)
    world.register("s", AB)
    assert world.register(":.c:s", AB) == (1, 1)
    assert world.state.contexts() == [".", ".c"]
    assert world.state.all_subjects() == [":.c:s", "s"]


# Each level, beside what Confluent's documentation allows in it: `n` adds a field with a default
# (old readers skip it, new ones fill it in), `-` removes one with a default, `!` adds one without
# (the new cannot read the old), `x` removes one without (the old cannot read the new).
WITHOUT = Schema(SchemaType.AVRO, '{"type":"record","name":"R","fields":[]}')
CHANGES = {"n": (A, AB), "-": (AB, A), "!": (WITHOUT, A), "x": (A, WITHOUT), "t": (STRING, INT)}
ALLOWED = {
    Level.NONE: "n-!xt",
    Level.BACKWARD: "n-x",
    Level.BACKWARD_TRANSITIVE: "n-x",
    Level.FORWARD: "n-!",
    Level.FORWARD_TRANSITIVE: "n-!",
    Level.FULL: "n-",
    Level.FULL_TRANSITIVE: "n-",
}


@pytest.mark.parametrize("level", list(Level))
@pytest.mark.parametrize("change", list(CHANGES))
def test_a_level_allows_what_its_readers_can_read(level: Level, change: str) -> None:
    world = World()
    world.set_config("s", compatibility=str(level))
    old, new = CHANGES[change]
    world.register("s", old)
    if change in ALLOWED[level]:
        assert world.register("s", new)[1] == 2
        return
    with pytest.raises(RegistryError) as caught:
        world.register("s", new)
    assert code_of(caught) == ErrorCode.INCOMPATIBLE_SCHEMA
    assert caught.value.status == 409


# The same of languages in which a level allows other things: a field of a message is added or
# taken away at will, its type not changed; an object that is closed reads no property more.
MESSAGE = 'syntax = "proto3"; message R {{ {} }}'
OBJECT = '{{"type": "object", "properties": {{{}}}, "additionalProperties": false}}'
OTHERS = {
    SchemaType.PROTOBUF: {
        "+": (MESSAGE.format("int32 a = 1;"), MESSAGE.format("int32 a = 1; string b = 2;")),
        "t": (MESSAGE.format("int32 a = 1;"), MESSAGE.format("string a = 1;")),
    },
    SchemaType.JSON: {
        "+": (OBJECT.format('"a": {}'), OBJECT.format('"a": {}, "b": {}')),
        "-": (OBJECT.format('"a": {}, "b": {}'), OBJECT.format('"a": {}')),
        "t": ('{"type": "integer"}', '{"type": "string"}'),
    },
}
BACKWARDS = frozenset(("BACKWARD", "BACKWARD_TRANSITIVE"))
FORWARDS = frozenset(("FORWARD", "FORWARD_TRANSITIVE"))


@pytest.mark.parametrize("level", list(Level))
@pytest.mark.parametrize(
    ("language", "change"), [(one, change) for one, found in OTHERS.items() for change in found]
)
def test_a_level_allows_what_it_does_in_each_language(
    level: Level, language: SchemaType, change: str
) -> None:
    world = World()
    world.set_config("s", compatibility=str(level))
    old, new = (Schema(language, text) for text in OTHERS[language][change])
    world.register("s", old)
    by_language = {
        (SchemaType.PROTOBUF, "+"): frozenset(Level),
        (SchemaType.JSON, "+"): BACKWARDS,
        (SchemaType.JSON, "-"): FORWARDS,
    }
    if level in by_language.get((language, change), ()) or level is Level.NONE:
        assert world.register("s", new)[1] == 2
        return
    with pytest.raises(RegistryError) as caught:
        world.register("s", new)
    assert code_of(caught) == ErrorCode.INCOMPATIBLE_SCHEMA


@pytest.mark.parametrize("level", [one for one in Level if one is not Level.NONE])
def test_a_transitive_level_looks_further_back(level: Level) -> None:
    """x: int, then nothing, then x: string: each reads the one beside it, nobody the third."""
    world = World()
    world.set_config(None, compatibility=str(level))
    steps = [
        '[{"name":"x","type":"int","default":0}]',
        "[]",
        '[{"name":"x","type":"string","default":""}]',
    ]
    schemas = [
        Schema(SchemaType.AVRO, f'{{"type":"record","name":"R","fields":{step}}}') for step in steps
    ]
    world.register("s", schemas[0])
    world.register("s", schemas[1])
    if "TRANSITIVE" not in level:
        assert world.register("s", schemas[2])[1] == 3
        return
    with pytest.raises(RegistryError) as caught:
        world.register("s", schemas[2])
    assert code_of(caught) == ErrorCode.INCOMPATIBLE_SCHEMA


def test_only_schemas_of_one_group_are_compared() -> None:
    world = World()
    world.set_config("s", compatibilityGroup="major")
    first = Schema(SchemaType.AVRO, '"string"', metadata={"properties": {"major": "1"}})
    second = Schema(SchemaType.AVRO, '"int"', metadata={"properties": {"major": "2"}})
    third = Schema(SchemaType.AVRO, '"boolean"', metadata={"properties": {"major": "2"}})
    world.register("s", first)
    assert world.register("s", second)[1] == 2
    with pytest.raises(RegistryError):
        world.register("s", third)


def test_another_language_is_another_type() -> None:
    world = World()
    world.register("s", A)
    with pytest.raises(RegistryError) as caught:
        world.register("s", Schema(SchemaType.JSON, '{"type":"object"}'))
    assert code_of(caught) == ErrorCode.INCOMPATIBLE_SCHEMA
    world.set_config("s", compatibility="NONE")
    assert world.register("s", Schema(SchemaType.JSON, '{"type":"object"}'))[1] == 2


def test_metadata_and_rules_are_inherited_and_imposed() -> None:
    world = World()
    world.register("s", avro("a", metadata={"properties": {"owner": "me", "x": "1"}}))
    world.set_config(
        "s",
        defaultMetadata={"properties": {"x": "default", "team": "t"}},
        overrideMetadata={"properties": {"owner": "boss"}},
    )
    world.register("s", AB)
    latest = world.state.latest("s")
    assert latest is not None
    wanted = {"owner": "boss", "x": "1", "team": "t"}
    assert properties_of(latest.schema.metadata) == wanted


def test_a_numbered_schema_carries_its_version() -> None:
    world = World()
    world.register("s", A)
    assert world.register("s", A, version=-1)[1] == 2
    latest = world.state.latest("s")
    assert latest is not None
    assert properties_of(latest.schema.metadata) == {"confluent:version": "2"}
    with pytest.raises(RegistryError) as caught:
        world.register("s", AB, version=7)
    assert code_of(caught) == ErrorCode.INVALID_SCHEMA


@pytest.mark.parametrize("mode", ["READONLY", "READONLY_OVERRIDE"])
def test_in_a_read_only_mode_nothing_changes(mode: str) -> None:
    world = World()
    world.register("s", A)
    world.set_mode("s", mode)
    for change in (
        lambda: world.register("s", AB),
        lambda: world.delete("s"),
        lambda: world.delete("s", 1),
        lambda: world.set_config("s", compatibility="NONE"),
    ):
        with pytest.raises(RegistryError) as caught:
            change()
        assert code_of(caught) == ErrorCode.NOT_PERMITTED
    assert world.register("other", AB) == (2, 1)


def test_importing_takes_ids_and_versions_as_they_come() -> None:
    world = World()
    with pytest.raises(RegistryError) as caught:
        world.register("s", A, id=SchemaId(40))
    assert code_of(caught) == ErrorCode.NOT_PERMITTED
    world.set_mode(None, "IMPORT")
    assert world.register("s", STRING, id=SchemaId(40), version=5) == (40, 5)
    assert world.register("s", INT, id=SchemaId(41), version=3) == (41, 3)
    with pytest.raises(RegistryError) as caught:
        world.register("t", A, id=SchemaId(40), version=1)
    assert code_of(caught) == ErrorCode.NOT_PERMITTED
    with pytest.raises(RegistryError) as caught:
        world.register("t", A)
    assert code_of(caught) == ErrorCode.NOT_PERMITTED
    world.set_mode(None, "READWRITE")
    assert world.register("t", A) == (42, 1)


def test_importing_begins_with_nothing_there_unless_it_is_forced() -> None:
    world = World()
    world.register("s", A)
    with pytest.raises(RegistryError) as caught:
        world.set_mode("s", "IMPORT")
    assert code_of(caught) == ErrorCode.NOT_PERMITTED
    world.delete("s")
    world.set_mode("s", "IMPORT")
    assert world.versions("s", deleted=True) == []
    world.register("t", AB)
    world.set_mode("t", "IMPORT", is_forced=True)
    assert world.versions("t") == [1]


def test_references_must_be_there_and_keep_what_they_refer_to() -> None:
    world = World()
    with pytest.raises(RegistryError) as caught:
        world.register("holder", referring("held", 1))
    assert code_of(caught) == ErrorCode.INVALID_SCHEMA
    world.register("held", A)
    assert world.register("holder", referring("held", 1)) == (2, 1)
    for permanently in (False, True):
        for version in (None, 1):
            with pytest.raises(RegistryError) as caught:
                world.delete("held", version, permanently=permanently)
            assert code_of(caught) == ErrorCode.REFERENCE_EXISTS
    assert [each.id for each in world.state.referrers(("held", Version(1)))] == [2]
    world.delete("holder")
    world.delete("held")
    with pytest.raises(RegistryError) as caught:
        world.delete("held", permanently=True)
    assert code_of(caught) == ErrorCode.REFERENCE_EXISTS
    world.delete("holder", permanently=True)
    assert world.delete("held", permanently=True) == [1]


def test_deleting_goes_softly_first() -> None:
    world = World()
    for schema in (A, AB, ABC):
        world.register("s", schema)
    world.set_config("s", compatibility="FULL")
    world.set_mode("s", "READWRITE")
    with pytest.raises(RegistryError) as caught:
        world.delete("s", 2, permanently=True)
    assert code_of(caught) == ErrorCode.VERSION_NOT_SOFT_DELETED
    assert world.delete("s", 2) == 2
    with pytest.raises(RegistryError) as caught:
        world.delete("s", 2)
    assert code_of(caught) == ErrorCode.VERSION_SOFT_DELETED
    assert world.versions("s") == [1, 3]
    assert world.versions("s", deleted=True) == [1, 2, 3]
    by_id = world.state.by_id(SchemaId(2), None)
    assert by_id is not None
    assert by_id.is_deleted
    assert world.delete("s", 2, permanently=True) == 2
    assert world.state.by_id(SchemaId(2), None) is None
    with pytest.raises(RegistryError) as caught:
        world.delete("s", permanently=True)
    assert code_of(caught) == ErrorCode.SUBJECT_NOT_SOFT_DELETED
    assert world.delete("s") == [1, 3]
    with pytest.raises(RegistryError) as caught:
        world.delete("s")
    assert code_of(caught) == ErrorCode.SUBJECT_SOFT_DELETED
    assert world.delete("s", permanently=True) == [1, 3]
    assert world.state.own_config("s") is None
    assert world.state.own_mode("s") is None
    with pytest.raises(RegistryError) as caught:
        world.delete("s")
    assert code_of(caught) == ErrorCode.SUBJECT_NOT_FOUND


def test_what_was_deleted_comes_back_with_its_id_and_a_new_version() -> None:
    world = World()
    world.register("s", A)
    world.register("s", AB)
    world.delete("s", 2)
    assert world.register("s", AB) == (2, 3)
    assert world.versions("s", deleted=True) == [1, 3]


def test_an_alias_level_or_mode_of_a_context_holds_in_it() -> None:
    world = World()
    world.set_config(":.__GLOBAL:", compatibility="FULL")
    assert world.state.config("s").level is Level.FULL
    world.set_config(None, compatibility="NONE")
    assert world.state.config("s").level is Level.NONE
    assert world.state.config(":.c:s").level is Level.FULL
    world.set_config(":.c:", compatibility="FORWARD")
    assert world.state.config(":.c:s").level is Level.FORWARD
    world.set_mode(":.c:", "READONLY")
    assert world.state.mode(":.c:s").is_read_only
    assert not world.state.mode("s").is_read_only


def test_a_setting_that_nothing_would_act_on_is_refused() -> None:
    world = World()
    for body in ({"validateRules": True}, {"compatibilityPolicy": "LOGICAL"}, {"nonsense": 1}):
        with pytest.raises(RegistryError):
            world.set_config("s", **body)
    with pytest.raises(RegistryError) as caught:
        world.set_config("s", compatibility="SOMETIMES")
    assert code_of(caught) == ErrorCode.INVALID_COMPATIBILITY
    with pytest.raises(RegistryError) as caught:
        world.set_mode("s", "SOMETIMES")
    assert code_of(caught) == ErrorCode.INVALID_MODE


@pytest.mark.parametrize("seed", range(20))
def test_what_compaction_leaves_of_the_topic_is_the_same_state(seed: int) -> None:
    """Anything, in any order; then only the last record of each key is read, in order."""
    rng = random.Random(seed)
    world = World()
    schemas = [avro(*"abcdef"[:n]) for n in range(1, 7)]
    for _ in range(60):
        subject = rng.choice(["s", "t", ":.c:s"])
        try:
            match rng.randrange(6):
                case 0 | 1 | 2:
                    world.register(subject, rng.choice(schemas))
                case 3:
                    world.delete(subject, rng.randrange(1, 6), permanently=rng.random() < 0.4)
                case 4:
                    world.delete(subject, permanently=rng.random() < 0.4)
                case _:
                    world.set_config(subject, compatibility=rng.choice(list(Level)))
        except RegistryError:
            continue
    assert _shown(_compacted(world)) == _shown(world.state)


def _compacted(world: World) -> State:
    """As the log cleaner does: of each key the last, where it was."""
    last = {encode(record)[0]: index for index, record in enumerate(world.written)}
    state = State()
    for index in sorted(last.values()):
        state.apply(world.written[index])
    return state


def _shown(state: State) -> object:
    return [
        (each.subject, each.version, each.id, each.schema, each.is_deleted)
        for each in state.all(":.__GLOBAL:", deleted=True)
    ]


def reserving(*names: str, fields: tuple[str, ...] = ("a",)) -> Schema:
    return avro(*fields, metadata={"properties": {"confluent:reserved": ", ".join(names)}})


@pytest.mark.parametrize(
    ("new", "previous", "wrong"),
    [
        (reserving("x", "y"), None, []),
        (reserving("x", "y"), reserving("y"), []),
        (reserving("y"), reserving("x", " ", "y"), ["RESERVED_FIELD_REMOVED x"]),
        (A, reserving("x"), ["RESERVED_FIELD_REMOVED x"]),
        (reserving("a", "x"), A, ["FIELD_CONFLICTS_WITH_RESERVED_FIELD a"]),
        (
            reserving("a"),
            reserving("b"),
            ["RESERVED_FIELD_REMOVED b", "FIELD_CONFLICTS_WITH_RESERVED_FIELD a"],
        ),
    ],
)
def test_a_reserved_name_stays_reserved_and_no_field_has_it(
    new: Schema, previous: Schema | None, wrong: list[str]
) -> None:
    found = registering.reserved_differences(new, previous, ["a"])
    assert len(found) == len(wrong)
    for sentence, expected in zip(found, wrong, strict=True):
        kind, name = expected.split()
        assert f"errorType:'{kind}'" in sentence
        assert f"additionalInfo:'{name}'" in sentence
