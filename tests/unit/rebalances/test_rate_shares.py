"""The rates of clusters that move together: even, and never more than the budget in all."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from laws import examples
from poolkeeper.errors import Unavailable
from poolkeeper.model.execution.outcomes import (
    ExternalPlanState,
    ExternalPlanStatus,
    Outcome,
    Progress,
    State,
)
from poolkeeper.model.execution.runs import Phase
from poolkeeper.model.rebalances import BudgetSpec, BudgetWindow, Site
from poolkeeper.model.specs import Window
from poolkeeper.rebalances.rate_shares import (
    OFFERS_MAX,
    UNKNOWN,
    ClusterRate,
    RateClaim,
    RateLimit,
    RateOffer,
    fleet_rate,
    limits_of,
    share_rates,
)

HOUR_MS = 3_600_000
PLAN = "sha256:a"
NIGHT = BudgetWindow(Window("0 22 * * *", 8 * 3600), 600)
EVENING = BudgetWindow(Window("0 18 * * *", 8 * 3600), 100)
PLAIN = BudgetWindow(Window("0 12 * * *", 3600))
EAST = Site("east", ("a", "b"), 500)


@pytest.mark.parametrize(
    ("budget", "hour", "expected"),
    [
        pytest.param(BudgetSpec(), 0, None, id="no-limit"),
        pytest.param(BudgetSpec(900), 0, 900, id="at-any-time"),
        pytest.param(BudgetSpec(900, windows=(PLAIN,)), 12, 900, id="a-window-without-a-rate"),
        pytest.param(BudgetSpec(900, windows=(NIGHT,)), 23, 600, id="the-window-s"),
        pytest.param(BudgetSpec(900, windows=(NIGHT, EVENING)), 23, 600, id="the-highest-of-two"),
        pytest.param(BudgetSpec(windows=(PLAIN, NIGHT)), 12, None, id="a-window-without-limit"),
    ],
)
def test_the_rate_of_the_fleet(budget: BudgetSpec, hour: int, expected: int | None) -> None:
    assert fleet_rate(budget, hour * HOUR_MS) == expected


def test_limits_are_of_those_that_move() -> None:
    elsewhere = Site("west", ("x",), 9)
    unlimited = Site("north", ("c",))
    budget = BudgetSpec(900, sites=(EAST, elsewhere, unlimited))
    assert limits_of(budget, ["b", "c"], 0) == (
        RateLimit(900, frozenset("bc")),
        RateLimit(500, frozenset("b")),
    )


def begun(name: str, may_copy: float, *, unreachable: bool = False) -> RateClaim:
    return RateClaim(name, True, may_copy, unreachable)


def joins(name: str, may_copy: float = 0) -> RateClaim:
    return RateClaim(name, False, may_copy)


WHOLE = (900, "abcd")
SITE = (100, "ab")


@pytest.mark.parametrize(
    ("claims", "limits", "expected"),
    [
        pytest.param([joins("a")], [], {"a": None}, id="no-limit"),
        pytest.param([joins("a")], [WHOLE], {"a": 900}, id="all-of-it-for-one"),
        pytest.param([joins("a"), joins("b")], [WHOLE], {"a": 450, "b": 450}, id="even"),
        pytest.param(
            [begun("a", 900), joins("b")], [WHOLE], {"a": 450, "b": 0}, id="lowered-before-others"
        ),
        pytest.param(
            [begun("a", 450), joins("b")], [WHOLE], {"a": 450, "b": 450}, id="lowered-by-now"
        ),
        pytest.param(
            [begun("a", 600), joins("b")], [WHOLE], {"a": 450, "b": 300}, id="half-lowered"
        ),
        pytest.param([begun("a", 450)], [WHOLE], {"a": 900}, id="given-what-others-had"),
        pytest.param(
            [begun("a", 450), begun("b", 600)], [WHOLE], {"a": 450, "b": 450}, id="nothing-is-left"
        ),
        pytest.param(
            [begun("a", 300), begun("b", 500)], [WHOLE], {"a": 400, "b": 450}, id="what-is-left"
        ),
        pytest.param(
            [begun("a", UNKNOWN), joins("b")], [WHOLE], {"a": 450, "b": 0}, id="not-looked-at-yet"
        ),
        pytest.param(
            [begun("a", UNKNOWN, unreachable=True), joins("b")],
            [WHOLE],
            {"a": 450, "b": 450},
            id="nobody-can-look",
        ),
        pytest.param(
            [joins("a"), joins("b"), joins("c")],
            [WHOLE, SITE],
            {"a": 50, "b": 50, "c": 300},
            id="a-site-has-less",
        ),
        pytest.param([joins("a"), joins("b")], [(1, "ab")], {"a": 1, "b": 0}, id="hardly-anything"),
        pytest.param([begun("a", 0), begun("b", 900)], [WHOLE], {"a": 1, "b": 450}, id="never-0"),
    ],
)
def test_shares(
    claims: list[RateClaim], limits: list[tuple[int, str]], expected: dict[str, int | None]
) -> None:
    names = {claim.cluster for claim in claims}
    found = share_rates(
        claims, [RateLimit(rate, names & frozenset(those)) for rate, those in limits]
    )
    assert found == expected


def report(
    offer: int = 0, rates: tuple[int, ...] = (), *, plan: str = PLAN, lost: bool = False
) -> Outcome:
    progress = Progress(
        plan, Phase.MOVING, 1, 0, 1, 1, 0, 1, throttle_highest_bytes_per_s=max(rates, default=None)
    )
    return Outcome(
        State.WAITING,
        progress=progress if rates else None,
        external=ExternalPlanStatus(PLAN, ExternalPlanState.MOVING, (), offer),
        error=Unavailable("away") if lost else None,
    )


def test_what_may_be_copied_at() -> None:
    rate = ClusterRate()
    assert (rate.may_copy, rate.observed(None, PLAN, 2).may_copy) == (UNKNOWN, UNKNOWN)
    rate = rate.observed(report(), PLAN, 2)
    assert rate.may_copy == 0
    rate = rate.offered(100).offered(100).offered(60)
    assert rate.offers == (RateOffer(1, 100), RateOffer(2, 60))
    assert rate.may_copy == 100
    rate = rate.observed(report(1, (50,)), PLAN, 2)
    assert (rate.may_copy, rate.offers) == (100, (RateOffer(1, 100), RateOffer(2, 60)))
    rate = rate.observed(report(2, (30, 50)), PLAN, 2)
    assert (rate.may_copy, rate.offers) == (100, (RateOffer(2, 60),))
    rate = rate.observed(report(2, (30,)), PLAN, 2)
    assert rate.may_copy == 60
    away = rate.observed(report(2, lost=True), PLAN, 2)
    assert (away.may_copy, away.unreachable) == (60, True)
    assert rate.observed(report(2, (500,), plan="sha256:b"), PLAN, 2).in_force == 0
    assert rate.offered(None).may_copy == UNKNOWN


def test_a_loop_that_makes_no_passes_fills_no_memory() -> None:
    rate = ClusterRate(in_force=0.0)
    for number in range(10 * OFFERS_MAX):
        rate = rate.offered(1000 if number == 3 else 1 + number % 2)
    assert (len(rate.offers), rate.may_copy) == (OFFERS_MAX, 1000)
    assert rate.observed(report(rate.offers[-1].number), PLAN, 1).may_copy == 2


BUDGET = 840
CLUSTERS = ("a", "b", "c")
RECEIVERS = 2


@dataclass
class Loop:
    """A cluster's loop: what it is told, what its pass works with, what its brokers let in."""

    joined: bool = False
    ended: bool = False
    has_begun: bool = False
    told: RateOffer | None = None
    working: RateOffer | None = None
    rates: tuple[int, ...] = ()
    reported: Outcome | None = field(default_factory=report)

    @property
    def copies(self) -> int:
        return max(self.rates, default=0) * RECEIVERS

    def pass_begins(self) -> None:
        """A pass works with the offer of its begin."""
        self.working = self.working or self.told

    def pass_ends(self) -> None:
        """A pass begins the run or changes the throttle; the earlier rate is in force meanwhile."""
        offer, self.working = self.working, None
        if offer is None or self.ended:
            return
        rate = (offer.bytes_per_s or 0) // RECEIVERS
        if self.rates[:1] != (rate,) and (self.rates or rate):
            self.rates = (rate, *self.rates[:1])
        self.reported = report(offer.number, self.rates)

    def settles(self) -> None:
        """The next pass finds the new rate at all brokers."""
        if self.working is None and self.reported is not None and len(self.rates) > 1:
            self.rates = self.rates[:1]
            told = self.reported.external
            self.reported = report(0 if told is None else told.offer, self.rates)

    def goes_on(self) -> None:
        """What is usual: passes follow each other until nothing changes."""
        for _ in range(2):
            self.pass_begins()
            self.pass_ends()
            self.settles()

    def ends(self) -> None:
        if self.rates and self.working is None:
            self.ended, self.rates = True, ()
            self.reported = report()

    def joins(self) -> None:
        self.joined = True

    def first_pass(self) -> None:
        """A new leader's; before it has offered anything."""
        if self.reported is None:
            self.reported = replace(report(0, self.rates), external=None)


class Fleet:
    """Clusters and the controller of their Rebalance."""

    def __init__(self) -> None:
        self.loops = {name: Loop() for name in CLUSTERS}
        self.known = {name: ClusterRate() for name in CLUSTERS}

    def look(self) -> None:
        """What the controller does: learns of the last passes, and offers."""
        for name, loop in self.loops.items():
            self.known[name] = self.known[name].observed(loop.reported, PLAN, RECEIVERS)
            loop.has_begun |= loop.reported is not None and loop.reported.progress is not None
        turn = [name for name, loop in self.loops.items() if loop.joined and not loop.ended]
        turn.sort(key=lambda name: (not self.loops[name].has_begun, name))
        claims = [
            RateClaim(name, self.loops[name].has_begun, self.known[name].may_copy) for name in turn
        ]
        for name, share in share_rates(claims, limits_of(BudgetSpec(BUDGET), turn, 0)).items():
            self.known[name] = self.known[name].offered(share)
            self.loops[name].told = self.known[name].offers[-1]

    def another_leader(self, late: str) -> None:
        """A new process knows only what its own first passes report; one is late."""
        self.known = {name: ClusterRate() for name in self.loops}
        for name, loop in self.loops.items():
            loop.working, loop.told, loop.reported = None, None, None
            if name != late:
                loop.first_pass()

    def moving(self) -> list[Loop]:
        return [loop for loop in self.loops.values() if loop.joined and not loop.ended]


USUAL = (Loop.joins, Loop.goes_on, Loop.pass_begins, Loop.pass_ends)
SELDOM = (Loop.settles, Loop.ends, Loop.first_pass, None)
HAPPENS = st.sampled_from((*USUAL, *USUAL, *SELDOM))


@pytest.mark.slow
@examples(600)
@given(st.lists(st.tuples(HAPPENS, st.sampled_from(CLUSTERS), st.booleans()), max_size=30))
def test_never_more_than_the_budget_whatever_happens_when(
    course: list[tuple[Callable[[Loop], None] | None, str, bool]],
) -> None:
    fleet = Fleet()
    for happens, name, looked in course:
        if happens is None:
            fleet.another_leader(name)
        else:
            happens(fleet.loops[name])
        if looked:
            fleet.look()
        assert sum(loop.copies for loop in fleet.loops.values()) <= BUDGET
    for _ in range(6):
        for loop in fleet.loops.values():
            loop.first_pass()
        fleet.look()
        for loop in fleet.loops.values():
            loop.goes_on()
    assert {loop.copies for loop in fleet.moving()} <= {BUDGET // max(1, len(fleet.moving()))}
