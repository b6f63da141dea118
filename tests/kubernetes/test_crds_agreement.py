"""Documents that our reader refuses, held before the API server: it must refuse them as well.

Where one document by itself is sound, the server cannot know: names of others, conflicts, sizes of
others. Whatever else it takes is listed with the reason; the list is exact. The other way round,
what the README shows must be taken.
"""

import ast
import re
import shlex
from pathlib import Path

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from admission import NO_TIME, OUT_OF_RANGE
from apirequests import PLURALS, folder
from apirequests import YAML as YAML_TYPE
from poolkeeper.resources.parse import schemas

ROOT = Path(__file__).parents[2]
CASES = ROOT / "tests" / "golden" / "bad-input"
README = ROOT / "README.md"
NAMESPACE = re.compile(r"[a-z0-9-]+")
TAKEN_BY_SERVER = {
    "by itself the document is sound; the operator's status tells about the others": {
        "assignments: a broker outside the pool",
        "clusters: a default pool of another cluster",
        "clusters: a default pool that does not exist",
        "clusters: the same Kafka cluster twice",
        "pools: a broker in two pools",
        "pools: a claim within another pool's claim",
        "pools: a namespace that is not allowed",
        "pools: a pool of a cluster that does not exist",
        "pools: log directories without the brokers' protocol",
        "pools: more topics and partitions than the quotas",
        "pools: several brokers in two pools",
        "topics: a pool that does not exist",
        "topics: more replicas than brokers that are not drained",
        "topics: names that Kafka cannot tell apart",
        "topics: two resources for one Kafka topic",
    },
    "the second of two documents with one name is a change of the first": {
        "clusters: the same name twice",
        "pools: the same pool twice",
        "topics: the same resource twice",
    },
    "keys and values of configs depend on the Kafka version, which is the cluster's": {
        "configs: a config key that no Kafka knows",
        "configs: a config key that no version knows, where the version is not declared",
        "configs: a config key that this version does not know yet",
        "configs: config keys that contradict each other",
        "configs: config values out of range",
        "configs: config values that are no numbers",
        "configs: config values that are not among the choices",
    },
    "a rule cannot ask whether text is a regular expression": {
        "pools: a claim that is no regular expression",
    },
    "the server takes null for absent and fills in the default; a reader can ask what was meant": {
        "clusters: a mode left empty",
        "topics: an empty config",
    },
    "the server ignores a namespace where there is none": {
        "clusters: a namespace for what has none",
    },
    "the server's YAML takes one of several meanings": {
        "yaml: a number that is octal for some readers",
        "yaml: a word that is true for some readers and text for others",
    },
}
"""What the server takes all the same, by the reason."""


def cases():
    for file in sorted(CASES.glob("*.txt")):
        for case in re.split(r"^## ", file.read_text(), flags=re.MULTILINE)[1:]:
            title, _, rest = case.partition("\n")
            text = rest.partition("\n=> ")[0]
            yield f"{file.stem}: {title.removesuffix(', alone')}", text


def documents(text):
    for part in re.split(r"^(?:@@ .*|---)$", text, flags=re.MULTILINE):
        if part.strip():
            yield part.lstrip("\n")


def body_of(text):
    """The document, or None if it is no resource with a name."""
    try:
        body = YAML(typ="safe").load(text)
    except YAMLError:
        return None
    is_resource = isinstance(body, dict) and isinstance(body.get("metadata"), dict)
    return body if is_resource else None


def is_refused(api, text):
    """Whether the server, or a YAML reader before it, refuses the document."""
    body = body_of(text)
    if body is None or body.get("kind") not in PLURALS:
        return True  # there is no path for it
    answer = api.send("POST", folder(body), text, YAML_TYPE, dryRun="All", fieldValidation="Strict")
    # All namespaces exist that can.
    assert answer.status in {201, 400, 404, 422}, answer.message
    return answer.status != 201


def test_the_server_refuses_what_our_reader_refuses(api):
    found = {name: list(documents(text)) for name, text in cases()}
    bodies = [body_of(part) or {"metadata": {}} for parts in found.values() for part in parts]
    names = {str(body["metadata"].get("namespace", "default")) for body in bodies}
    for namespace in filter(NAMESPACE.fullmatch, sorted(names)):
        api.ensure_namespace(namespace)
    taken = {name for name, parts in found.items() if not any(is_refused(api, p) for p in parts)}
    assert taken == set().union(*TAKEN_BY_SERVER.values())
    assert len(found) > 2 * len(taken)


def test_the_server_takes_what_the_readme_shows(api):
    lines = [line for line in README.read_text().splitlines() if "apiVersion: poolkeeper" in line]
    assert lines
    for line in lines:
        words = [word for word in shlex.split(line) if ": " in word]
        assert not is_refused(api, "\n".join(words)), line


def test_every_rule_is_seen_to_refuse_something():
    """What a rule says stands in the tests of this folder, word for word."""
    said = set()
    for file in Path(__file__).parent.glob("test_crds_*.py"):
        tree = ast.parse(file.read_text())
        said |= {str(node.value) for node in ast.walk(tree) if isinstance(node, ast.Constant)}
    said |= {NO_TIME, OUT_OF_RANGE}
    messages = [
        validation["message"]
        for plural in PLURALS.values()
        for schema in _schemas(schemas.definition(plural))
        for validation in schema.get("x-kubernetes-validations", ())
    ]
    assert len(messages) > 40
    assert [message for message in messages if not any(message in text for text in said)] == []


def _schemas(value):
    if isinstance(value, dict):
        yield value
        for inner in value.values():
            yield from _schemas(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _schemas(inner)
