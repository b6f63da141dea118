"""What a loop tells of a pass whose write was lost to another one."""

from dataclasses import replace

import pytest

from poolkeeper.controller.loops.session_passes import ToldPass
from poolkeeper.errors import Stale
from poolkeeper.model.desired import Desired
from poolkeeper.model.execution.actions import Action, ActionKind
from poolkeeper.model.execution.outcomes import LastObservation, Outcome, State
from poolkeeper.model.execution.waits import after_error
from poolkeeper.resources.checks.assembly import assemble
from poolkeeper.resources.status.events import status_events
from unit.resources.bodies import kafka, topic
from unit.resources.situations import AUTO, FAST, IN_SLOW, MAIN, ORDERS, POOLS
from unit.resources.stages import running, seen, told, with_statuses

LOST = Stale("/poolkeeper/run changed")
WAITS = (after_error(LOST),)
OBJECTS = (AUTO, *POOLS, topic("orders", "fast", partitions=4, replicationFactor=2))
SEEN = seen(kafka([IN_SLOW]))
RUN = running(assemble(OBJECTS)["main"], SEEN, 1)


def declared() -> Desired:
    found = assemble(OBJECTS)["main"].desired
    assert found is not None
    return found


def test_a_run_stands_as_it_was_told_last() -> None:
    desired = declared()
    outcome = ToldPass(RUN, desired).after_lost_write(LOST, desired, SEEN)
    assert outcome == replace(RUN, waits=WAITS)
    before = told(OBJECTS, SEEN, RUN)
    after = told(with_statuses(OBJECTS, before), SEEN, outcome)
    for key in (MAIN, FAST, ORDERS):
        assert after[key]["conditions"][0]["reason"] == "Moving"
        assert status_events(key, before[key], after[key]) == ()


def test_a_plan_of_what_was_declared_before_is_none_of_what_is_declared_now() -> None:
    outcome = ToldPass(RUN, declared()).after_lost_write(LOST, declared(), SEEN)
    assert outcome == replace(RUN, waits=WAITS, fresh=None)


ENDED = replace(RUN, did=(Action(ActionKind.RUN_ENDED),))
AT_REST = Outcome(State.CONVERGED, plan=RUN.plan, last_observation=SEEN)


@pytest.mark.parametrize(
    ("before", "known"),
    [
        pytest.param(None, None, id="no-pass-before-so-a-run-may-be-recorded"),
        pytest.param(ENDED, SEEN, id="the-run-has-ended"),
        pytest.param(AT_REST, SEEN, id="no-run"),
    ],
)
def test_no_run_is_made_up(before: Outcome | None, known: LastObservation | None) -> None:
    desired = declared()
    outcome = ToldPass(before, desired).after_lost_write(LOST, desired, SEEN)
    assert outcome == Outcome(State.WAITING, waits=WAITS, last_observation=known)
