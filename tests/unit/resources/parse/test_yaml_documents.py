import json

import pytest

from poolkeeper.errors import Problem
from poolkeeper.resources.parse import yaml_documents


def bodies(text):
    parsed, problems = yaml_documents.parse(text, "f.yaml")
    assert problems == []
    return [document.body for document in parsed]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("", [], id="empty-file"),
        pytest.param("# only\n---\n---\n# comments\n", [], id="nothing-but-comments"),
        pytest.param("a: 1\n---\nb: 2\n", [{"a": 1}, {"b": 2}], id="two-documents"),
        pytest.param("--- {a: 1}\n", [{"a": 1}], id="beside-the-marker"),
        pytest.param("%YAML 1.2\n---\na: 1\n", [{"a": 1}], id="directive"),
        pytest.param("a: 1\n...\n---\nb: 2\n", [{"a": 1}, {"b": 2}], id="end-marker"),
        pytest.param("a: |\n  x\n  ---\n  y\n", [{"a": "x\n---\ny\n"}], id="marker-inside-text"),
        pytest.param("---x: 1\n", [{"---x": 1}], id="three-dashes-of-a-key"),
        pytest.param("1: a\n", [{"1": "a"}], id="keys-are-text"),
        pytest.param('{"a": [1, {"b": null}]}', [{"a": [1, {"b": None}]}], id="json"),
        pytest.param("a: &x {b: 1}\nc: *x\n", [{"a": {"b": 1}, "c": {"b": 1}}], id="alias"),
        pytest.param(
            "a: &x {b: 1, c: 1}\nd: {<<: *x, c: 2}\n",
            [{"a": {"b": 1, "c": 1}, "d": {"c": 2, "b": 1}}],
            id="merge-key",
        ),
        pytest.param("a: !!str 12\nb: 'on'\n", [{"a": "12", "b": "on"}], id="text-by-tag-or-quote"),
        pytest.param("a: 1\r\n---\r\nb: 2\r\n", [{"a": 1}, {"b": 2}], id="windows-line-ends"),
    ],
)
def test_texts_are_read_as(text, expected):
    assert bodies(text) == expected


@pytest.mark.parametrize(
    ("path", "line"),
    [
        pytest.param((), 2, id="the-document"),
        pytest.param(("spec",), 3, id="a-mapping-by-its-key"),
        pytest.param(("spec", "ids"), 4, id="a-list-by-its-key"),
        pytest.param(("spec", "ids", 1), 6, id="an-element"),
        pytest.param(("spec", "more", "b"), 8, id="inside-braces"),
        pytest.param(("spec", "absent", "deeper"), 3, id="what-is-absent-by-its-parent"),
    ],
)
def test_fields_have_lines(path, line):
    text = "# a comment\nkind: X\nspec:\n  ids:\n  - 1\n  - 2\n  more:\n    {a: 1, b: 2}\n"
    parsed, _ = yaml_documents.parse(text, "f.yaml")
    assert parsed[0].places.line(path) == line


def test_lines_go_on_over_documents():
    parsed, _ = yaml_documents.parse("a: 1\n\n---\n\nb:\n  c: 1\n", "f.yaml")
    assert parsed[1].places.line(("b", "c")) == 6


def test_the_unprintable_is_refused_with_its_line():
    assert yaml_documents.parse("a: 1\nb: \x07\n", "f.yaml") == (
        [],
        [Problem("f.yaml", 2, "", "character '\\x07' is not allowed (expected printable text)")],
    )


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_mark_of_an_editor_within_joined_files_is_named(end):
    told = "a byte order mark begins this line (expected none but at the begin of the file)"
    text = end.join(("a: 1", "---", "\ufeffb: 1", "c: 1", ""))
    assert yaml_documents.parse(text, "f.yaml") == ([], [Problem("f.yaml", 3, "", told)])


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("password: *hunter2", id="alias"),
        pytest.param("password: [hunter2", id="broken"),
        pytest.param("password: hunter2: x", id="colon"),
        pytest.param("password: @hunter2", id="reserved-character"),
        pytest.param("password: no", id="ambiguous"),
    ],
)
def test_secret_text_is_not_repeated(text):
    parsed, problems = yaml_documents.parse(text, "f.yaml", secret=True)
    told = [str(problem) for document in parsed for problem in document.problems]
    told += map(str, problems)
    assert len(told) == 1
    assert "hunter2" not in told[0]
    assert "'no'" not in told[0]


@pytest.mark.parametrize(
    "value", ["\U0001f600", "a\U0001f600\U0001f601", "\\\U0001f600", "\\ud83d"]
)
def test_what_json_escapes_is_read(value):
    text = json.dumps({"a": value})
    documents, problems = yaml_documents.parse(text, "m.json")
    assert ([each.body for each in documents], problems) == ([{"a": value}], [])
