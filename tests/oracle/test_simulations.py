"""What `poolkeeper simulate` answers is what Kafka's own classes answer, refusals included."""

import json
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_oracle import Thrown
from laws import examples
from oracle.questions import QUESTIONS
from poolkeeper.simulations.lines import answer

SEEDS = st.integers(0, 2**32 - 1)
BATCH = 60
ASSIGNORS = {"range", "roundrobin", "sticky", "cooperative_sticky", "member_order"}
ASSIGNORS |= {"rack_aware_enabled"}
KINDS = [kind for kind in QUESTIONS if kind not in ASSIGNORS]
REFUSED = "refused"


def answered(kind, input_):
    found = json.loads(answer(json.dumps(input_).encode(), 1, kind).line)
    return found.get("output", REFUSED)


def told(kafka, kind, inputs):
    return [REFUSED if isinstance(each, Thrown) else each for each in kafka.ask(kind, inputs)]


@pytest.mark.parametrize("kind", KINDS)
@examples(18)
@given(seed=SEEDS)
def test_every_kind_answers_as_kafka_does(kafka_3_9, kind, seed):
    random = Random(seed)
    inputs = [QUESTIONS[kind](random) for _ in range(BATCH)]
    ours = [answered(kind, each) for each in inputs]
    theirs = told(kafka_3_9, kind, inputs)
    differing = [row for row in zip(inputs, ours, theirs, strict=True) if row[1] != row[2]]
    assert min(differing, key=lambda row: len(str(row)), default=None) is None
