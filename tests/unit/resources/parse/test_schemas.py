import re
from fractions import Fraction
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ruamel.yaml import YAML

from poolkeeper.model.specs import (
    BrokersSpec,
    KafkaClusterSpec,
    ResourcePoolSpec,
    TopicSpec,
    ZooKeeperSpec,
)
from poolkeeper.resources.kinds.kafka_cluster import read_cluster
from poolkeeper.resources.kinds.resource_pool import read_pool
from poolkeeper.resources.kinds.topic import read_topic
from poolkeeper.resources.parse import quantities, schemas

CRDS = Path(__file__).parents[4] / "crds"
PLURALS = ("kafkaclusters", "resourcepools", "topics", "rebalances")
UNIT = "(Ki|Mi|Gi|Ti|Pi|Ei|k|M|G|T|P|E|[eE][0-9]{1,2})?"
SIZE_PATTERN = f"^[0-9]+([.][0-9]+)?{UNIT}$"
ITEM_SIZE_PATTERN = f"^(0*[1-9][0-9]*([.][0-9]+)?|0+[.]0*[1-9][0-9]*){UNIT}$"
"""Of a size in a list, where no rule says that zero is none."""
API = {"apiVersion": "poolkeeper.dev/v1alpha1"}


def test_each_kind_is_read_from_the_definition_of_its_name():
    kinds = schemas.kinds()
    assert [kinds[name].name for name in kinds] == list(kinds)
    assert [name in kinds for name in ("Topic", "Topics")] == [True, False]
    assert len(kinds) == len(PLURALS)


@pytest.mark.parametrize("plural", PLURALS)
def test_a_definition_is_read_as_any_reader_of_yaml_reads_it(plural):
    text = (CRDS / f"{plural}.yaml").read_text()
    assert schemas.definition(plural) == YAML(typ="safe").load(text)


def root(plural):
    return schemas.definition(plural)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]


def nodes(schema, path=()):
    yield path, schema
    for name, inner in schema.get("properties", {}).items():
        yield from nodes(inner, (*path, name))
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            yield from nodes(schema[key], (*path, f"<{key}>"))


def test_what_is_not_said_is_as_the_specs_have_it():
    cluster = {**API, "kind": "KafkaCluster", "metadata": {"name": "main"}}
    pool = {**API, "kind": "ResourcePool", "metadata": {"name": "fast"}}
    topic = {**API, "kind": "Topic", "metadata": {"name": "t"}}
    zookeeper, brokers = {"connect": "zk:2181"}, {"bootstrapServers": "a:1,b:2"}
    assert read_cluster({**cluster, "spec": {"zookeeper": zookeeper}}).sound == KafkaClusterSpec(
        "main", ZooKeeperSpec("zk:2181")
    )
    assert read_cluster(
        {**cluster, "spec": {"zookeeper": zookeeper, "brokers": brokers}}
    ).sound == KafkaClusterSpec("main", ZooKeeperSpec("zk:2181"), BrokersSpec(("a:1", "b:2")))
    assert read_pool(
        {**pool, "spec": {"clusterRef": {"name": "main"}, "brokers": {"ids": [2, 1]}}}
    ).sound == ResourcePoolSpec("fast", "main", (1, 2))
    assert read_topic({**topic, "spec": {"poolRef": {"name": "fast"}}}).sound == TopicSpec(
        "t", "default", "t", "fast"
    )


def test_what_the_api_server_adds_is_no_problem():
    metadata = {"name": "t", "namespace": "a", "uid": "u", "generation": 1, "managedFields": []}
    body = {
        **API,
        "kind": "Topic",
        "metadata": metadata,
        "spec": {"poolRef": {"name": "fast"}, "keyed": False, "config": {}},
        "status": {"anything": 1},
    }
    assert read_topic(body).sound == TopicSpec("t", "a", "t", "fast")


@pytest.mark.parametrize("plural", PLURALS)
def test_every_field_of_a_spec_is_described_and_bounded(plural):
    for path, schema in nodes(root(plural)["properties"]["spec"]):
        where = ".".join((plural, *path))
        kind = schema.get("type")
        assert schema["description"], where
        assert kind or schema.get("x-kubernetes-int-or-string"), where
        if kind == "array":
            assert "maxItems" in schema, where
            assert "x-kubernetes-list-type" in schema, where
        if kind == "string" and "enum" not in schema:
            assert "maxLength" in schema, where
        if kind == "object" and "additionalProperties" in schema:
            assert "maxProperties" in schema, where
        if kind == "integer":
            assert "minimum" in schema, where


@pytest.mark.parametrize("plural", PLURALS)
def test_schemas_are_structural(plural):
    forbidden = {"$ref", "definitions", "uniqueItems", "patternProperties", "nullable", "oneOf"}
    for path, schema in nodes(root(plural)):
        where = ".".join((plural, *path))
        assert not forbidden & set(schema), where
        assert not ("properties" in schema and "additionalProperties" in schema), where
        if schema.get("x-kubernetes-int-or-string"):
            assert schema["anyOf"] == [{"type": "integer"}, {"type": "string"}], where
            assert "type" not in schema, where
        if schema.get("x-kubernetes-list-type") == "map":
            keys = schema["x-kubernetes-list-map-keys"]
            assert set(keys) <= set(schema["items"]["required"]), where


@pytest.mark.parametrize("plural", PLURALS)
def test_rules_say_what_is_wrong_and_match_nothing_without_an_end(plural):
    """The API server refuses definitions whose rules may cost too much, regexes above all."""
    for path, schema in nodes(root(plural)):
        for validation in schema.get("x-kubernetes-validations", ()):
            where = ".".join((plural, *path))
            assert "matches(" not in validation["rule"] or "maxLength" in schema, where
            assert re.fullmatch("[^\n]*[^.\n]", validation["message"]), where


@pytest.mark.parametrize("plural", PLURALS)
def test_patterns_of_sizes_and_durations_are_those_that_are_read(plural):
    known = (SIZE_PATTERN, ITEM_SIZE_PATTERN, quantities.DURATION_PATTERN)
    for path, schema in nodes(root(plural)["properties"]["spec"]):
        if schema.get("x-kubernetes-int-or-string"):
            is_item = "<items>" in path
            assert schema["pattern"] == (ITEM_SIZE_PATTERN if is_item else SIZE_PATTERN), path
            assert ("x-kubernetes-validations" in schema) is not is_item, path
            assert schema.get("minimum") == (1 if is_item else None), path
        if re.search(r"Ki|\)\?s|h\)\?", schema.get("pattern", "")):
            assert schema["pattern"] in known, path


@given(
    st.from_regex(ITEM_SIZE_PATTERN.removesuffix("$") + r"\Z")
    | st.from_regex(SIZE_PATTERN.removesuffix("$") + r"\Z")
)
def test_a_size_in_a_list_matches_if_it_is_more_than_zero(text):
    mantissa = re.match("[0-9.]+", text)[0]
    assert bool(re.search(ITEM_SIZE_PATTERN, text)) is (Fraction(mantissa) > 0)


@pytest.mark.parametrize("plural", PLURALS)
def test_defaults_satisfy_their_own_schema(plural):
    for path, schema in nodes(root(plural)["properties"]["spec"]):
        if "default" in schema:
            validator = jsonschema.Draft4Validator(schemas.prepare_schema(schema))
            assert validator.is_valid(schema["default"]), path


@pytest.mark.parametrize("plural", PLURALS)
def test_nothing_is_filled_in_within_a_list(plural):
    """Client-side apply compares lists as a whole, and would find a difference every time."""
    for path, schema in nodes(root(plural)):
        assert not ("<items>" in path and "default" in schema), path
