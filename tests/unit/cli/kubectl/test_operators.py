"""Whether an operator leads, by its Lease alone: recent, old, renewed meanwhile, free, gone."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from poolkeeper.cli.kubectl.operators import (
    RELEASES_MAX,
    OperatorRelease,
    operator_releases,
    release_names,
)
from poolkeeper.errors import Forbidden, Unavailable
from poolkeeper.kube.leadership.leader_election import microtime

NOW = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)
RELEASE = "infra/poolkeeper"
DURATION_S = 9
HOUR = timedelta(hours=1)

Body = dict[str, Any]


def cluster(operator: str | None = RELEASE) -> Body:
    status = {} if operator is None else {"operator": operator}
    return {"metadata": {"name": "main"}, "spec": {}, "status": status}


def lease(holder: str, ago: timedelta, duration_s: int = DURATION_S) -> Body:
    spec = {
        "holderIdentity": holder,
        "leaseDurationSeconds": duration_s,
        "renewTime": microtime(NOW - ago),
    }
    return {"metadata": {"resourceVersion": "1"}, "spec": spec}


class Leases:
    """Answers reads of one Lease in turn, the last one again and again; counts what went by."""

    def __init__(self, *answers: Body | Exception | None) -> None:
        self.answers = list(answers)
        self.paths: list[str] = []
        self.slept_s = 0.0

    def get(self, path: str, *, deadline_s: float | None = None) -> Body | None:
        """Return the next answer, or raise it."""
        self.paths.append(path)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer

    def sleep(self, seconds: float) -> None:
        """Let time go by."""
        self.slept_s += seconds

    def asked(self, *clusters: Body) -> list[OperatorRelease]:
        """What is found of the releases of these clusters."""
        return operator_releases(self, clusters, clock=NOW.timestamp, sleep=self.sleep)


def test_a_lease_of_just_now_is_read_once() -> None:
    leases = Leases(lease("pod-1", timedelta(seconds=2)))
    renewed = "2026-11-29T11:59:58Z"
    assert leases.asked(cluster()) == [OperatorRelease(RELEASE, True, "pod-1", renewed)]
    assert leases.paths == [
        "/apis/coordination.k8s.io/v1/namespaces/infra/leases/poolkeeper",
    ]
    assert leases.slept_s == 0


@pytest.mark.parametrize(
    "ago", [pytest.param(HOUR, id="old"), pytest.param(-HOUR, id="of-a-clock-that-is-ahead")]
)
class TestWhereTheTimeProvesNothing:
    def test_nobody_leads_if_the_lease_stays_for_its_duration(self, ago: timedelta) -> None:
        leases = Leases(lease("pod-1", ago))
        (found,) = leases.asked(cluster())
        assert not found.leads
        assert leases.slept_s == DURATION_S

    def test_somebody_leads_if_it_is_renewed(self, ago: timedelta) -> None:
        leases = Leases(lease("pod-1", ago), lease("pod-1", ago), lease("pod-1", ago * 0.99))
        (found,) = leases.asked(cluster())
        assert (found.leads, found.holder) == (True, "pod-1")
        assert leases.slept_s == 2

    def test_nobody_leads_if_it_is_released_meanwhile(self, ago: timedelta) -> None:
        leases = Leases(lease("pod-1", ago), lease("", ago))
        assert [each.leads for each in leases.asked(cluster())] == [False]

    def test_nobody_leads_if_it_goes_meanwhile(self, ago: timedelta) -> None:
        leases = Leases(lease("pod-1", ago), None)
        assert [each.leads for each in leases.asked(cluster())] == [False]

    def test_a_longer_duration_than_any_is_waited_for_as_that(self, ago: timedelta) -> None:
        leases = Leases(lease("pod-1", ago, duration_s=86_400))
        leases.asked(cluster())
        assert leases.slept_s == 60


def test_of_a_lease_that_was_released_nobody_leads() -> None:
    leases = Leases(lease("", timedelta(seconds=2)))
    (found,) = leases.asked(cluster())
    assert found.sentence == (
        "no operator of the release infra/poolkeeper leads: its Lease was renewed last at"
        " 2026-11-29T11:59:58Z; statuses may be out of date, and nothing is done until one leads"
        " (`kubectl get pods -n infra`, and the logs of these pods)"
    )
    assert found.document == {
        "release": RELEASE,
        "leads": False,
        "holder": None,
        "renewed": "2026-11-29T11:59:58Z",
    }


def test_a_lease_that_is_handed_over_has_a_leader() -> None:
    free = lease("", HOUR, duration_s=1)
    (found,) = Leases(free, free, free, lease("pod-2", timedelta())).asked(cluster())
    assert (found.leads, found.holder) == (True, "pod-2")


def test_of_a_lease_that_is_gone_nobody_leads() -> None:
    (found,) = Leases(None).asked(cluster())
    assert not found.leads
    assert "leads: its Lease is gone; statuses" in found.sentence


@pytest.mark.parametrize("renewed", ["", "yesterday", None])
def test_a_lease_with_an_odd_time_counts_as_one_of_no_time(renewed: str | None) -> None:
    body = lease("pod-1", HOUR)
    body["spec"]["renewTime"] = renewed
    assert [each.leads for each in Leases(body).asked(cluster())] == [False]


@pytest.mark.parametrize("error", [Forbidden("no"), Unavailable("away")])
def test_what_may_not_be_read_is_not_known(error: Exception) -> None:
    assert Leases(error).asked(cluster()) == []


@pytest.mark.parametrize(
    ("said", "found"),
    [
        pytest.param(None, [], id="none-yet"),
        pytest.param("", [], id="empty"),
        pytest.param("b/p, a/p", ["a/p", "b/p"], id="two"),
        pytest.param("poolkeeper", [], id="no-namespace"),
        pytest.param("../../x", [], id="a-way-up"),
        pytest.param("a/b/c", [], id="a-path"),
        pytest.param("a/p?x=1", [], id="a-query"),
        pytest.param(", ".join(f"n{n}/p" for n in range(9)), ["n0/p", "n1/p", "n2/p", "n3/p"]),
    ],
)
def test_releases_are_what_statuses_name(said: str | None, found: list[str]) -> None:
    assert release_names([cluster(said), cluster(said)]) == found
    assert len(found) <= RELEASES_MAX
