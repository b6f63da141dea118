"""When the pages tell that nobody leads: by how long a Lease stays as it is, and no other clock."""

from typing import Any

import pytest

from poolkeeper.cli.commands.ui.operator_leases import OperatorLeases
from poolkeeper.errors import Forbidden, Unavailable

RELEASE = "infra/poolkeeper"
CLUSTER = {"status": {"operator": RELEASE}}
LONG_AGO = "2020-01-01T00:00:00.000000Z"

Body = dict[str, Any]


def lease(version: int, holder: str = "pod-1", duration_s: int = 9) -> Body:
    spec = {"holderIdentity": holder, "leaseDurationSeconds": duration_s, "renewTime": LONG_AGO}
    return {"metadata": {"resourceVersion": str(version)}, "spec": spec}


class Pages:
    """Looks at a Lease at given seconds, as pages do that are open."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.answer: Body | Exception | None = None
        self.leases = OperatorLeases(self, lambda: self.now_s)

    def get(self, path: str, *, deadline_s: float | None = None) -> Body | None:
        """Answer the read of the Lease."""
        assert path.endswith("/namespaces/infra/leases/poolkeeper")
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    def look(self, at_s: float, answer: Body | Exception | None) -> list[str]:
        """Return what is told after another look."""
        self.now_s, self.answer = at_s, answer
        self.leases.look([CLUSTER, {"status": None}])
        return [each.sentence for each in self.leases.leaderless(CLUSTER)]


def test_a_lease_that_is_renewed_has_a_leader_whatever_its_clock_says() -> None:
    pages = Pages()
    assert [pages.look(5.0 * n, lease(n)) for n in range(9)] == [[]] * 9


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        pytest.param(lease(1), "was renewed last at 2020-01-01T00:00:00Z", id="not-renewed"),
        pytest.param(lease(1, ""), "was renewed last at 2020-01-01T00:00:00Z", id="released"),
        pytest.param(None, "is gone", id="gone"),
    ],
)
def test_nobody_leads_once_a_lease_has_stayed_for_its_duration(
    answer: Body | None, why: str
) -> None:
    pages = Pages()
    assert pages.look(0.0, answer) == []
    assert pages.look(8.9, answer) == []
    (told,) = pages.look(9.0, answer)
    assert told.startswith(f"no operator of the release infra/poolkeeper leads: its Lease {why};")
    assert pages.look(14.0, lease(2)) == []


def test_a_lease_that_is_handed_over_between_two_looks_had_a_leader_all_the_time() -> None:
    """Who ends gives a Lease back that lasts for a second."""
    pages = Pages()
    assert pages.look(0.0, lease(1, "", duration_s=1)) == []
    pages.now_s = 4.0
    assert pages.leases.leaderless(CLUSTER) == ()
    assert pages.look(5.0, lease(2, "pod-2")) == []


@pytest.mark.parametrize(("duration_s", "over_s"), [(3, 3.0), (30, 30.0), (86_400, 60.0)])
def test_a_lease_counts_for_as_long_as_it_says(duration_s: int, over_s: float) -> None:
    pages = Pages()
    body = lease(1, duration_s=duration_s)
    pages.look(0.0, body)
    assert pages.look(over_s - 0.1, body) == []
    assert len(pages.look(over_s, body)) == 1


@pytest.mark.parametrize("error", [Forbidden("no"), Unavailable("away")])
def test_of_a_lease_that_may_not_be_read_nothing_is_told(error: Exception) -> None:
    pages = Pages()
    pages.look(0.0, lease(1))
    assert pages.look(20.0, error) == []
    assert pages.look(21.0, lease(1)) == []  # what was seen before may be of another leadership
    assert len(pages.look(30.0, lease(1))) == 1


def test_of_a_cluster_that_names_no_release_nothing_is_told() -> None:
    pages = Pages()
    pages.look(0.0, None)
    pages.look(60.0, None)
    assert pages.leases.leaderless({"status": None}) == ()
    assert pages.leases.leaderless({"status": {"operator": "another/release"}}) == ()
