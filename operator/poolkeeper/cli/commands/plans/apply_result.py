"""What `apply` came to: what of the plan is not as declared, how that is told, the exit code."""

from collections.abc import Sequence
from dataclasses import replace

from poolkeeper import wording
from poolkeeper.cli.output import left_undone, printing
from poolkeeper.cli.output.left_undone import Undone
from poolkeeper.frozen import frozen
from poolkeeper.model.execution.actions import Action, ActionKind
from poolkeeper.model.execution.outcomes import Outcome, State
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import Wait
from poolkeeper.model.plans import Plan
from poolkeeper.text import count, cut

UNDONE_MAX = 10


@frozen
class ApplyResult:
    """What carrying out a plan came to.

    `by_run`: what the run gave up. `damage`: what is wrong with the cluster beside the plan.
    `throttled`: throttles of which nobody knows who set them.
    """

    plan: Plan
    outcome: Outcome
    by_run: tuple[Undone, ...]
    damage: tuple[Undone, ...]
    throttled: tuple[Wait, ...]

    @classmethod
    def of(cls, plan: Plan, outcome: Outcome, did: Sequence[Action]) -> "ApplyResult":
        """The result of a last outcome, and of what was done until then."""
        last = outcome.last_observation
        unaccounted = () if last is None else last.unaccounted
        throttled = tuple(w for w in unaccounted if w.reason is WaitReason.THROTTLES_UNACCOUNTED)
        damage = left_undone.of_damage(unaccounted)
        if not any(action.kind is ActionKind.THROTTLES_STAY for action in did):
            damage += left_undone.of_waits(left_undone.throttles_left(outcome))
        damage += left_undone.of_waits(left_undone.deletions_left(outcome))
        return cls(plan, outcome, left_undone.of_actions(did), damage, throttled)

    @property
    def by_plan(self) -> tuple[Undone, ...]:
        """What the plan left undone."""
        return left_undone.of_plan(self.plan)

    @property
    def undone(self) -> tuple[Undone, ...]:
        """All that is not as declared."""
        return (*self.by_run, *self.by_plan, *self.damage)

    @property
    def exit_code(self) -> int:
        """1 where it was stopped, 4 where something is left undone, else 0."""
        if self.outcome.state is State.STOPPED:
            return 1
        return left_undone.EXIT_CODE if self.undone else 0

    def tell(self, output: str) -> None:
        """Write it as JSON or as lines."""
        if output == printing.JSON:
            waits = (*self.outcome.waits, *self.throttled)
            emit_document(self.plan, replace(self.outcome, waits=waits), self.undone)
            return
        if self.outcome.state is State.STOPPED:
            printing.warn(["stopped before its end: `poolkeeper apply` plans what is left"])
        elif self.undone:
            told = [each.message for each in (*self.by_run, *self.damage)]
            told.extend(map(left_undone.sentence, self.by_plan))
            left = cut(told, UNDONE_MAX, grouped=False)
            printing.warn([f"not as declared: {each}" for each in left])
            things = count(len(self.undone), "thing")
            printing.emit(f"done, and {things} left undone: {self.plan.hash}")
        else:
            printing.emit(f"done: {self.plan.hash}")
        printing.warn(wording.sentences(self.throttled))


def emit_document(plan: Plan, outcome: Outcome, undone: Sequence[Undone]) -> None:
    """Write the JSON document of a plan that was carried out, or had nothing to do."""
    printing.emit_json(
        {
            "plan": plan.hash,
            "state": outcome.state.value,
            "waits": list(wording.sentences(outcome.waits)),
            "waitsFor": left_undone.as_data(left_undone.of_waits(outcome.waits)),
            "undone": left_undone.as_data(undone),
        }
    )
