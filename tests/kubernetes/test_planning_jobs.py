"""Questions answered by Jobs on a real control plane, whose executors are real ones of Spark.

The answer must be that of this process to the byte, whatever is killed meanwhile. One cluster
refuses connections, another takes them and says nothing: who reads that one is in mid-job.
"""

import re
from collections.abc import Iterator
from dataclasses import replace

import pytest

from chart import rights
from conditions import until
from fleet.in_process import InProcess
from matrices import soak
from planned import Planning, Silent, asked, crowded_clusters
from poolkeeper.errors import Unavailable
from poolkeeper.fleet.schedule.budget import Budget
from poolkeeper.rebalances.planning import task_runner
from poolkeeper.rebalances.planning.request import PlanningDeadlines, RebalanceRequest
from poolkeeper.rebalances.planning.response import RebalanceResponse

pytestmark = [pytest.mark.fleet, pytest.mark.long]
CREDENTIALS = {"username": "planner", "password": "secret"}
NOW_MS = 1_790_000_000_000
BEGUN_S = 180.0


@pytest.fixture(scope="module")
def planning(control_plane, kubelet) -> Planning:
    return Planning(control_plane, kubelet)


@pytest.fixture(scope="module")
def clusters() -> Iterator[dict[str, str]]:
    with crowded_clusters(3) as found:
        yield found


@pytest.fixture(scope="module")
def silent() -> Iterator[Silent]:
    found = Silent()
    yield found
    found.close()


@pytest.fixture(scope="module")
def question(clusters, silent) -> RebalanceRequest:
    """About clusters that can be read, one of them with credentials, and others that cannot."""
    some = [asked(name, connect) for name, connect in clusters.items()]
    others = [
        asked("closed", "127.0.0.1:1"),
        asked("locked", clusters["cluster-0"], "absent"),
        asked("secured", clusters["cluster-0"], "zk"),
        asked("silent", silent.address),
    ]
    everything = tuple(sorted([*some, *others], key=lambda each: each.cluster))
    return RebalanceRequest(
        everything, NOW_MS, Budget(clusters_max=1), patience=PlanningDeadlines(2.5, 60.0)
    )


@pytest.fixture(scope="module")
def expected(question, planning, tmp_path_factory) -> str:
    """What this process answers."""
    planning.keep_secret("zk", CREDENTIALS)
    folder = tmp_path_factory.mktemp("secrets")
    (folder / "zk").mkdir()
    for key, value in CREDENTIALS.items():
        (folder / "zk" / key).write_text(value)
    answer = RebalanceResponse.from_json(
        task_runner.write_response(question, InProcess(), str(folder)).text
    )
    moves = {each.cluster: each.moves for each in answer.clusters if each.plan}
    assert moves == dict.fromkeys(("cluster-0", "cluster-1", "cluster-2", "secured"), 4)
    problems = {each.cluster: each.problem for each in answer.clusters if not each.plan}
    assert problems.keys() == {"closed", "locked", "silent"}
    assert problems["locked"] == "there is no Secret absent for planners"
    return answer.to_json()


@pytest.mark.parametrize("executors", [1, *soak(2)])
def test_executors_read_and_plan_and_one_that_is_killed_costs_nothing(
    planning, question, silent, expected, executors
):
    """The operator that asked is gone by then: another one goes on with the same Job."""
    since, made = len(silent.taken), len(planning.jobs_made())
    with planning.rebalance() as name:
        engine = planning.engine(executors=executors)
        assert engine.request_plans(name, question) is None
        until(
            lambda: len(silent.taken) > since,
            "an executor reads the cluster that is silent",
            BEGUN_S,
        )
        first = planning.executors()
        assert len(first) == executors
        for pod in first:  # whichever it is, until it is the one that reads
            planning.kill(pod)
            if _gone(silent, since):
                break
        else:
            pytest.fail("nobody of the executors read the cluster")
        engine = planning.engine(executors=executors)
        answer = planning.answer(engine, name, question)
        assert answer.to_json() == expected
        assert [event.status for event in planning.jobs_made()[made:]] == [201]
        assert engine.request_plans(name, question) == answer
        planning.plane.kubectl("delete", "rebalance", name)
        until(lambda: not planning.left(), "everything of the Job is gone", 60)


def _gone(silent: Silent, number: int) -> bool:
    return any(silent.hung_up(number) for _ in range(10))


@pytest.mark.soak
def test_a_driver_that_is_killed_is_started_again(planning, question, silent, expected):
    names = ("cluster-0", "silent")
    some = tuple(each for each in question.asked if each.cluster in names)
    since = len(silent.taken)
    with planning.rebalance() as name:
        engine, short = planning.engine(), replace(question, asked=some)
        assert engine.request_plans(name, short) is None
        until(
            lambda: len(silent.taken) > since,
            "the driver reads the cluster that is silent",
            BEGUN_S,
        )
        (driver,) = planning.pods("Running")
        planning.kill(driver)
        answer = planning.answer(engine, name, short)
        whole = RebalanceResponse.from_json(expected).clusters
        assert answer.clusters == tuple(each for each in whole if each.cluster in names)
        assert len(planning.pods()) == 2


@pytest.mark.soak
def test_with_the_rebalance_everything_goes_in_mid_job(planning, question):
    with planning.rebalance() as name:
        engine = planning.engine(executors=1)
        assert engine.request_plans(name, question) is None
        # The Job, what is asked, what Spark is told; the driver, and the executor that it made.
        until(lambda: len(planning.left()) == 5, "an executor is on its way", BEGUN_S)
        planning.plane.kubectl("delete", "rebalance", name)
        until(lambda: not planning.left(), "everything of the Job is gone", 60)


def test_what_keeps_a_job_from_beginning_is_told(planning, question):
    with planning.rebalance() as name:
        nowhere = planning.engine(cores=1000)
        assert nowhere.request_plans(name, question) is None
        said = until(lambda: nowhere.pending_reason(name, question), "it says what it waits for")
        assert said.startswith(
            "its pod cannot be scheduled: 0/1 nodes are available: 1 Insufficient cpu"
        )
        nowhere.forget(name)
        until(lambda: not planning.left(), "everything of the Job is gone")
        nameless = planning.engine(image="example.test/nobody:1", deadline_s=5)
        assert nameless.request_plans(name, question) is None
        said = until(lambda: nameless.pending_reason(name, question), "it says what it waits for")
        assert re.match(r"its pod waits: \w*Image\w* \(image example.test/nobody:1\)", said)
        with pytest.raises(Unavailable, match=r"^planning was not finished within 5 s$"):
            planning.answer(nameless, name, question)
        until(lambda: not planning.left(), "what failed is gone")


def test_a_quota_that_has_no_room_for_a_pod_is_told(planning, question):
    quota = {"metadata": {"name": "full"}, "spec": {"hard": {"pods": "0"}}}
    path = f"/api/v1/namespaces/{planning.namespace}/resourcequotas"
    planning.plane.request("POST", path, quota)
    try:
        with planning.rebalance() as name:
            engine = planning.engine()
            assert engine.request_plans(name, question) is None
            said = until(lambda: engine.pending_reason(name, question), "it says what is wrong", 60)
            assert said.startswith("its pod is not created, as a quota, a limit or a policy")
            _, command, _ = said.split("`")
            assert "exceeded quota: full" in planning.plane.kubectl(*command.split()[1:]).stdout
            engine.forget(name)
            until(lambda: not planning.left(), "everything of the Job is gone")
    finally:
        planning.plane.request("DELETE", f"{path}/full")


def test_the_rights_granted_are_the_rights_used(planning):
    """Of all that the tests above did."""
    events = planning.plane.audit()
    for part, roles in (("-planner", ("-planner",)), ("", ("-jobs",))):
        account = planning.account(part)
        names = {f"{planning.full}{role}" for role in roles}
        objects = [one for one in planning.rights if one["metadata"]["name"] in names]
        assert rights.refused(events, account) == frozenset()
        assert len(rights.granted(objects, account)) > 5
        assert rights.surplus(objects, events, account) == frozenset()
