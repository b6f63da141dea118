"""Bodies held against schemas: a short yes is a yes of the library as well."""

import copy
from typing import Any
from unittest import mock

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from poolkeeper.resources.parse import schemas
from poolkeeper.resources.parse.schema_validator import SchemaValidator, first_repeated

TEXTS = st.sampled_from(["", "a", "b", "abcdef", "b\n"])
VALUES: Any = st.recursive(
    st.none() | st.booleans() | st.integers(-1, 5) | st.sampled_from([0.5, 1.0, 3.0]) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)
SCHEMAS: Any = st.recursive(
    st.fixed_dictionaries(
        {},
        optional={
            "type": st.sampled_from(
                ["integer", "number", "string", "boolean", "array", "object", ["integer", "string"]]
            ),
            "enum": st.lists(TEXTS | st.integers(0, 1), min_size=1, max_size=2, unique=True),
            "minimum": st.integers(0, 2),
            "maximum": st.integers(1, 4),
            "minLength": st.integers(0, 2),
            "maxLength": st.integers(1, 4),
            "pattern": st.sampled_from(["^[a-c]+$", "b", r"^b\Z"]),
            "minItems": st.integers(0, 2),
            "maxItems": st.integers(0, 2),
            "maxProperties": st.integers(0, 2),
            "uniqueItems": st.booleans(),
            "required": st.lists(TEXTS, min_size=1, max_size=2, unique=True),
            "default": TEXTS,
            "multipleOf": st.just(2),
        },
    ),
    lambda inner: st.fixed_dictionaries(
        {},
        optional={
            "type": st.sampled_from(["array", "object"]),
            "items": inner,
            "properties": st.dictionaries(TEXTS, inner, max_size=3),
            "additionalProperties": st.booleans() | inner,
        },
    ),
    max_leaves=4,
)


@given(SCHEMAS, VALUES)
def test_it_says_what_the_library_says(schema: dict[str, Any], value: Any) -> None:
    library = jsonschema.Draft4Validator(schema)
    ours = SchemaValidator(schema)
    assert ours.is_valid(value) == library.is_valid(value)
    assert [e.message for e in ours.iter_errors(value)] == [
        e.message for e in library.iter_errors(value)
    ]


SOUND: dict[str, Any] = {
    "apiVersion": "poolkeeper.dev/v1alpha1",
    "kind": "ResourcePool",
    "metadata": {"name": "fast"},
    "spec": {
        "clusterRef": {"name": "main"},
        "brokers": {"ids": [1, 2, 3]},
        "balance": {"replicas": {"percent": 5}},
        "capacity": {"disk": "4Ti"},
    },
}


def test_a_sound_resource_needs_no_library() -> None:
    with mock.patch.object(jsonschema, "Draft4Validator", side_effect=AssertionError):
        assert schemas.kinds()["ResourcePool"].validator.is_valid(SOUND)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        pytest.param(("spec", "brokers", "ids"), [1, 2, 2], id="a broker twice"),
        pytest.param(("spec", "brokers", "ids"), [1, True], id="no number"),
        pytest.param(("spec", "drian"), [1], id="an unknown field"),
        pytest.param(("metadata", "name"), "", id="no name"),
        pytest.param(("spec", "drain"), None, id="an empty field"),
    ],
)
def test_a_wrong_resource_is_refused(path: tuple[str, ...], value: Any) -> None:
    body = copy.deepcopy(SOUND)
    at = body
    for name in path[:-1]:
        at = at[name]
    at[path[-1]] = value
    assert not schemas.kinds()["ResourcePool"].validator.is_valid(body)


@pytest.mark.parametrize(
    ("values", "index"),
    [
        pytest.param([1, "1", 1], 2, id="a number"),
        pytest.param([1, True, 0, False], None, id="true is not 1"),
        pytest.param([1, 1.0], 1, id="1.0 is 1"),
        pytest.param([{"a": [1], "b": 2}, {"b": 2, "a": [1]}], 1, id="mappings in any order"),
        pytest.param([[1], [True], []], None, id="lists"),
    ],
)
def test_the_first_value_that_comes_again_is_found(values: list[Any], index: int | None) -> None:
    assert first_repeated(values) == index
    errors = [*SchemaValidator({"uniqueItems": True}).iter_errors(values)]
    assert bool(errors) == (index is not None)
    assert bool(errors) != jsonschema.Draft4Validator({"uniqueItems": True}).is_valid(values)


def test_twenty_thousand_mappings_are_not_compared_in_pairs() -> None:
    values = [{"broker": number} for number in range(20_000)]
    assert not [*SchemaValidator({"uniqueItems": True}).iter_errors(values)]
