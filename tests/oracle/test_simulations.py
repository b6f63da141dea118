"""What `poolkeeper simulate` answers is what Kafka's own classes answer, refusals included."""

import json
from random import Random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import simulate_page
from kafka_oracle import Thrown
from laws import compared
from oracle.questions import QUESTIONS
from poolkeeper.simulations.lines import answer
from simulate_page import PAGE

SEEDS = st.integers(0, 2**32 - 1)
BATCH = 60
REFUSED = "refused"
OLD = {"algorithm": "2.2"}
"""Asked of another release."""


def answered(kind, input_):
    found = json.loads(answer(json.dumps(input_).encode(), 1, kind).line)
    return found.get("output", REFUSED)


def told(kafka, kind, inputs):
    return [REFUSED if isinstance(each, Thrown) else each for each in kafka.ask(kind, inputs)]


@pytest.mark.parametrize("kind", list(QUESTIONS))
@compared(6)
@given(seed=SEEDS)
@example(seed=4902340)  # of sticky: who is on the partition's rack is asked before who is set aside
def test_every_kind_answers_as_kafka_does(kafka_3_9, kind, seed):
    random = Random(seed)
    drawn = [QUESTIONS[kind](random) for _ in range(BATCH)]
    inputs = [each for each in drawn if not each.items() >= OLD.items()]
    ours = [answered(kind, each) for each in inputs]
    theirs = told(kafka_3_9, kind, inputs)
    differing = [row for row in zip(inputs, ours, theirs, strict=True) if row[1] != row[2]]
    assert min(differing, key=lambda row: len(str(row)), default=None) is None


@compared(6)
@given(seed=SEEDS)
def test_records_without_a_key_go_where_producers_sent_them_until_2_3(kafka_2_2, seed):
    random = Random(seed)
    near = (-(2**31), -1, 0, 2**31 - 1)
    inputs = [
        QUESTIONS["rr_partitioner"](random)
        | {"start": random.choice((*near, random.randrange(-(2**31), 2**31)))}
        for _ in range(BATCH)
    ]
    inputs = [each for each in inputs if each["partitions"]]
    ours = [answered("rr_partitioner", each) for each in inputs]
    assert ours == told(kafka_2_2, "rr_partitioner", inputs)


def test_the_page_shows_what_kafka_answers(kafka_3_9):
    page = PAGE.read_text(encoding="utf-8")
    compared = 0
    for shown in simulate_page.examples(page):
        if shown.kind is not None:
            [theirs] = kafka_3_9.ask(shown.kind, [json.loads(shown.lines[0])])
            assert json.loads(shown.answer) == {"id": 1, "output": theirs}
            compared += 1
    assert compared == len(QUESTIONS)
