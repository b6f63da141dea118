"""Everything that can be wrong with manifests and is seen offline; the table is in golden files."""

import re
from pathlib import Path

import pytest

from poolkeeper.errors import InvalidInput
from poolkeeper.resources.checks import folder

GOLDEN = Path(__file__).parents[2] / "golden" / "bad-input"

BASE = """\
apiVersion: poolkeeper.dev/v1alpha1
kind: KafkaCluster
metadata: {name: main}
spec: {zookeeper: {connect: "zk-1:2181,zk-2:2181/kafka"}, kafkaVersion: "2.8"}
---
apiVersion: poolkeeper.dev/v1alpha1
kind: ResourcePool
metadata: {name: fast}
spec:
  clusterRef: {name: main}
  brokers: {ids: [1, 2, 3, 4, 5, 6]}
  drain: [6]
  claims: ['legacy\\..*']
---
apiVersion: poolkeeper.dev/v1alpha1
kind: ResourcePool
metadata: {name: slow}
spec:
  clusterRef: {name: main}
  brokers: {ranges: [{from: 7, to: 9}]}
  allowedNamespaces: {names: [ops]}
"""


def cases():
    for file in sorted(GOLDEN.glob("*.txt")):
        for case in re.split(r"^## ", file.read_text(), flags=re.MULTILINE)[1:]:
            title, _, rest = case.partition("\n")
            *texts, expected = rest.partition("=> ")[0], rest[rest.find("=> ") :]
            parts = re.split(r"^@@ (.*)\n", "@@ m.yaml\n" + texts[0], flags=re.MULTILINE)[1:]
            manifests = dict(zip(parts[::2], parts[1::2], strict=True))
            lines = [line.removeprefix("=> ") for line in expected.splitlines()]
            name = f"{file.stem}-{title.removesuffix(', alone').replace(' ', '-')}"
            base = {} if title.endswith(", alone") else {"base.yaml": BASE}
            yield pytest.param({**base, **manifests}, lines, id=name)


CASES = list(cases())


@pytest.mark.parametrize(("manifests", "expected"), CASES)
def test_every_problem_is_named_with_its_place(manifests, expected):
    with pytest.raises(InvalidInput) as caught:
        folder.load_texts(manifests)
    assert str(caught.value).splitlines() == expected


def test_what_the_cases_stand_beside_is_sound():
    assert folder.load_texts({"base.yaml": BASE}).documents == 3


def test_every_case_has_a_name_of_its_own():
    assert len({case.id for case in CASES}) == len(CASES) >= 60
