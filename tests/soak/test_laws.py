"""Costly laws of the unit suite on thousands of examples, other ones in every run.

There they say themselves on how few, always the same, so that the suite stays quick; the body of
each stands there. `make soak` gives more examples to the laws that leave their number open, too.
"""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from poolkeeper.model.specs import Strategy
from unit.fleet.schedule import test_schedule_laws as schedules
from unit.fleet.stages import test_plan_parts as units
from unit.kube.leadership import test_leader_elector as electors
from unit.planning import test_planner_laws as plans
from unit.planning.audit import test_incremental as changes
from unit.planning.diagnosis import test_survivable_failures as survivals
from unit.planning.diagnosis.test_capacity_conflicts import demands
from unit.planning.instances import instances
from unit.planning.proposals import test_manual_placement as pins
from unit.planning.run_state.progress import test_convergence as standings
from unit.rebalances.planning import test_request as questions
from unit.rebalances.planning import test_response as answers
from unit.resources.status import test_all_resources_laws as statuses
from unit.workers import test_wire as wire

pytestmark = [pytest.mark.soak, pytest.mark.timeout(1800)]

Law = Callable[..., None]
Strategies = tuple[st.SearchStrategy[Any], ...]

DICE = st.randoms(use_true_random=False)
OWN_PLACEMENT = instances(strategies=(Strategy.BALANCED, Strategy.MANUAL))
"""Kafka's lists are uneven by themselves, which the next plan's balance changes."""
WORKS = (schedules.fleets(), schedules.BUDGETS)

LAWS: tuple[tuple[Law, int, Strategies], ...] = (
    (plans.test_every_plan_passes_the_independent_audit, 3000, (instances(),)),
    (plans.test_a_plan_for_the_outcome_of_a_plan_has_no_moves, 3000, (OWN_PLACEMENT,)),
    (plans.test_the_order_of_the_input_does_not_matter, 1000, (instances(), DICE)),
    (plans.test_a_plan_never_moves_less_than_its_lower_bound, 2000, (instances(),)),
    (changes.test_changes_say_what_whole_states_say, 3000, (st.data(),)),
    (changes.test_moves_that_are_lawful_at_a_glance_are_lawful, 3000, (st.data(),)),
    (changes.test_the_verdict_is_that_of_all_moves_looked_at_one_by_one, 2000, (st.data(),)),
    (pins.test_each_broker_that_is_named_is_in_the_way_by_itself, 2000, pins.PLACEMENTS),
    (survivals.test_the_worst_of_all_losses_is_found, 10_000, (demands(),)),
    (standings.test_what_a_plan_leaves_undone_is_what_it_says, 1000, (instances(sick=False),)),
    (wire.test_every_request_and_its_plan_arrive_as_they_were, 1000, (instances(),)),
    (
        electors.test_two_never_believe_to_hold_it_and_in_the_end_one_does,
        1000,
        (electors.INSTANCES,),
    ),
    (units.test_parts_give_the_whole, 2000, (units.separable(),)),
    (
        answers.test_answers_survive_as_text_in_any_order_of_their_parts,
        1000,
        (instances(), st.booleans(), DICE),
    ),
    (
        answers.test_what_executors_give_makes_the_same_text,
        1000,
        (instances(), st.booleans()),
    ),
    (questions.test_any_declaration_survives, 2000, (instances(),)),
    (statuses.test_statuses_are_sound_and_a_fixpoint, 2000, (statuses.situations(),)),
    (statuses.test_finalizers_come_to_rest, 2000, (statuses.situations(),)),
    (schedules.test_no_budget_is_exceeded_at_any_moment, 2000, WORKS),
    (schedules.test_all_work_is_done_in_its_order_or_left_out, 2000, WORKS),
    (schedules.test_every_stage_lies_in_one_window, 2000, WORKS),
    (schedules.test_turns_and_lanes_tell_the_same_as_slices, 2000, WORKS),
    (schedules.test_the_order_of_clusters_does_not_matter, 2000, (*WORKS, DICE)),
    (schedules.test_no_schedule_beats_its_bound, 2000, WORKS),
    (schedules.test_nothing_waits_that_could_begin, 2000, WORKS),
    (schedules.test_no_order_brings_gain_with_fewer_bytes, 1000, schedules.CHAINS),
    (schedules.test_the_bound_is_not_above_the_best_of_all_schedules, 1000, schedules.TINY),
    (schedules.test_calendars_are_those_of_stages, 1000, schedules.DAYS),
)


@pytest.mark.parametrize(
    ("law", "examples", "strategies"), [pytest.param(*row, id=row[0].__name__) for row in LAWS]
)
def test_a_law_holds_at_length(law: Law, examples: int, strategies: Strategies) -> None:
    body = law.hypothesis.inner_test  # type: ignore[attr-defined]
    thorough = settings(
        max_examples=examples, derandomize=False, suppress_health_check=[HealthCheck.too_slow]
    )
    thorough(given(*strategies)(body))()
