"""The steps of a question through its Job, against a store of objects that stands in for a server.

What a real server makes of the same manifests is in tests/kubernetes/test_planning_jobs.py.
"""

import itertools
import time
from dataclasses import replace

import pytest

from builders import cluster_spec
from poolkeeper.errors import Refused, Stale, Unavailable
from poolkeeper.kube.jobs import configmap_blob, jobs
from poolkeeper.kube.jobs.planner_pods import PlannerPodSettings
from poolkeeper.kube.jobs.pod_failures import AT_WORK_S
from poolkeeper.kube.leadership.leader_fence import LeaderFence
from poolkeeper.model.desired import Desired
from poolkeeper.model.specs import BrokersSpec, KafkaClusterSpec, Tls, ZooKeeperSpec
from poolkeeper.rebalances.planning import text_chunks
from poolkeeper.rebalances.planning.planning_jobs import JobEngine, job_name, label, secrets_of
from poolkeeper.rebalances.planning.request import ClusterRequest, RebalanceRequest
from poolkeeper.rebalances.planning.response import ClusterPlan, RebalanceResponse
from poolkeeper.rebalances.text_store import TextStore

DESIRED = Desired(cluster_spec())
QUESTION = RebalanceRequest((ClusterRequest(DESIRED),), 7)
ANSWER = RebalanceResponse(QUESTION.digest, (ClusterPlan("main", problem="not there"),))
OWNER = {"apiVersion": "v1", "kind": "Rebalance", "name": "daily", "uid": "r1"}
NOT_ALL = "its ConfigMaps, or what they name, are not all there"
JOBS = "/apis/batch/v1/namespaces/ours/jobs"
JOB = job_name("daily", QUESTION)


class Server:
    """Objects by path. A Job's pods are whatever `pods` says; deletion takes what it owns."""

    def __init__(self):
        self.found, self.pods, self.number, self.leads = {}, [], 0, True

    def get(self, path, *, deadline_s=None):
        return self.found.get(path)

    def list(self, path, chunk=500, *, labels=""):
        key, _, value = labels.partition("=")
        if path.endswith("/pods"):
            return iter(self.pods)
        bodies = [body for where, body in self.found.items() if where.startswith(f"{path}/")]
        return iter([body for body in bodies if body["metadata"]["labels"].get(key) == value])

    def create(self, path, body):
        where = f"{path}/{body['metadata']['name']}"
        if where in self.found:
            raise Stale("it is there already")
        return self.apply(where, body)

    def apply(self, path, body, manager=""):
        self.number += 1
        metadata = {**body["metadata"], "uid": f"u{self.number}"}
        self.found[path] = {**body, "metadata": metadata}
        return self.found[path]

    def patch_json(self, path, operations):
        body = self.found.get(path)
        if body is None or body["metadata"]["uid"] != operations[0]["value"]:
            raise Stale("another one")
        body["spec"]["suspend"] = operations[1]["value"]
        noted, value = operations[2]["path"], operations[2]["value"]
        annotations = body["metadata"].get("annotations")
        if noted == "/metadata/annotations":
            body["metadata"]["annotations"] = value
        elif not annotations:
            raise Refused("the path is not there")
        else:
            annotations[noted.rpartition("/")[2].replace("~1", "/")] = value
        return body

    def delete(self, path, uid=None, *, propagation=""):
        assert propagation == "Background"
        gone = self.found.pop(path, None)
        if gone is not None:
            for where, body in list(self.found.items()):
                owners = {one["uid"] for one in body["metadata"]["ownerReferences"]}
                if gone["metadata"]["uid"] in owners:
                    del self.found[where]
        return gone is not None

    def names(self):
        return sorted(path.rpartition("/")[2] for path in self.found)

    def end(self, kind, **condition):
        self.found[f"{JOBS}/{JOB}"]["status"] = {
            "conditions": [{"type": kind, "status": "True", **condition}]
        }

    def keep(self, answer):
        """Write an answer as the driver does."""
        text = answer.to_json()
        kept = configmap_blob.Text(text_chunks.chunks_of(text, 100), text_chunks.digest_of(text))
        uid = self.found[f"{JOBS}/{JOB}"]["metadata"]["uid"]
        owner = jobs.owner(JOB, uid)
        configmap_blob.write(self, "ours", jobs.answer_name(JOB), owner, kept, {})


@pytest.fixture
def server():
    return Server()


@pytest.fixture
def engine(server):
    return engine_of(server)


def engine_of(server, clock=time.monotonic):
    texts = TextStore(server, "ours")
    settings = PlannerPodSettings("planner:1")
    return JobEngine(server, "ours", settings, lambda name: OWNER, texts, clock)


def suspend(server, *, suspended):
    server.found[f"{JOBS}/{JOB}"]["spec"]["suspend"] = suspended


def test_a_question_becomes_a_job_that_is_let_go_once_its_question_is_there(server, engine):
    assert engine.request_plans("daily", QUESTION) is None
    assert server.names() == [JOB, f"{JOB}-question-0"]
    assert server.found[f"{JOBS}/{JOB}"]["spec"]["suspend"] is False
    kept = configmap_blob.read(server, "ours", f"{JOB}-question")
    assert text_chunks.join_chunks(kept.chunks, QUESTION.digest) == QUESTION.to_json()


def test_asking_again_changes_nothing(server, engine):
    engine.request_plans("daily", QUESTION)
    before = server.number
    assert engine.request_plans("daily", QUESTION) is None
    assert server.number == before


def test_a_job_that_another_leader_left_suspended_is_gone_on_with(server, engine):
    engine_of(server).request_plans("daily", QUESTION)
    suspend(server, suspended=True)
    del server.found[f"{JOBS}/{JOB}"]["metadata"]["annotations"]["poolkeeper.dev/resumed"]
    (question,) = (path for path in server.found if "question" in path)
    del server.found[question]
    assert engine.request_plans("daily", QUESTION) is None
    assert server.names() == [JOB, f"{JOB}-question-0"]
    assert server.found[f"{JOBS}/{JOB}"]["spec"]["suspend"] is False


def test_the_answer_is_read_as_often_as_it_is_asked_for(server, engine):
    engine.request_plans("daily", QUESTION)
    server.keep(ANSWER)
    assert engine.request_plans("daily", QUESTION) is None
    server.end("Complete")
    assert [engine.request_plans("daily", QUESTION) for _ in range(2)] == [ANSWER, ANSWER]


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        pytest.param(
            lambda server: None,
            NOT_ALL,
            id="no-answer",
        ),
        pytest.param(
            lambda server: server.keep(replace(ANSWER, question="sha256:0")),
            "it is the response to another request",
            id="another-answer",
        ),
        pytest.param(
            lambda server: (server.keep(ANSWER), server.found.pop(_path(f"{JOB}-answer-1"))),
            NOT_ALL,
            id="a-piece-is-missing",
        ),
    ],
)
def test_an_answer_that_is_no_use_is_asked_for_again(server, engine, spoil, said):
    engine.request_plans("daily", QUESTION)
    spoil(server)
    server.end("Complete")
    with pytest.raises(Unavailable, match=said):
        engine.request_plans("daily", QUESTION)
    assert server.names() == []
    assert engine.request_plans("daily", QUESTION) is None
    assert JOB in server.names()


def _path(name):
    return f"/api/v1/namespaces/ours/configmaps/{name}"


def test_a_failed_job_is_told_once_and_made_anew(server, engine):
    engine.request_plans("daily", QUESTION)
    server.end("Failed", reason="DeadlineExceeded")
    with pytest.raises(Unavailable, match="planning was not finished within 3600 s"):
        engine.request_plans("daily", QUESTION)
    assert server.names() == []
    assert engine.request_plans("daily", QUESTION) is None
    assert JOB in server.names()


def test_another_question_takes_the_place_of_the_first(server, engine):
    engine.request_plans("daily", QUESTION)
    engine.request_plans("weekly", QUESTION)
    other = replace(QUESTION, now_ms=8)
    assert engine.request_plans("daily", other) is None
    names = {job_name("daily", other), job_name("weekly", QUESTION)}
    assert {name for name in server.names() if "question" not in name} == names


def test_forgetting_takes_everything_of_that_name(server, engine):
    engine.request_plans("daily", QUESTION)
    engine.request_plans("weekly", QUESTION)
    engine.forget("daily")
    engine.forget("daily")
    weekly = job_name("weekly", QUESTION)
    assert server.names() == [weekly, f"{weekly}-question-0"]


def test_who_leads_no_more_leaves_jobs_to_the_next_leader(server):
    fenced = JobEngine(
        LeaderFence(server, lambda: server.leads),
        "ours",
        PlannerPodSettings("planner:1"),
        lambda name: OWNER,
        TextStore(server, "ours"),
    )
    fenced.request_plans("daily", QUESTION)
    server.leads = False
    fenced.forget("daily")
    assert JOB in server.names()
    with pytest.raises(Unavailable, match="lease is not held"):
        fenced.request_plans("weekly", QUESTION)
    server.leads = True
    assert fenced.request_plans("daily", QUESTION) is None


LONG_AGO, FAR_AHEAD = "2020-01-01T00:00:00Z", "2099-01-01T00:00:00Z"
"""By the API server's clock, where this machine's is another one."""


@pytest.fixture
def clock():
    return itertools.count(0, AT_WORK_S + 1).__next__


@pytest.mark.parametrize("time_", [LONG_AGO, FAR_AHEAD])
def test_a_job_that_is_going_is_waited_for(server, clock, time_):
    engine = engine_of(server, clock)
    engine.request_plans("daily", QUESTION)
    server.found[f"{JOBS}/{JOB}"]["metadata"]["deletionTimestamp"] = time_
    assert engine.request_plans("daily", QUESTION) is None
    assert engine.pending_reason("daily", QUESTION) == ""
    assert "finalizers keep it" in engine.pending_reason("daily", QUESTION)


@pytest.mark.parametrize("time_", [LONG_AGO, FAR_AHEAD])
def test_a_job_whose_pod_is_not_created_says_so(server, clock, time_):
    engine = engine_of(server, clock)
    engine.request_plans("daily", QUESTION)
    assert engine.pending_reason("daily", QUESTION) == ""
    server.found[f"{JOBS}/{JOB}"]["status"] = {"startTime": time_}
    assert engine.pending_reason("daily", QUESTION) == ""
    assert "its pod is not created" in engine.pending_reason("daily", QUESTION)
    server.pods = [{"metadata": {"name": "p"}, "status": {"phase": "Running"}}]
    assert engine.pending_reason("daily", QUESTION) == ""


def test_a_job_that_others_suspend_is_left_to_them_and_told_of(server, engine):
    """As by a queue of Jobs, or a person: they would suspend it again each time."""
    engine.request_plans("daily", QUESTION)
    suspend(server, suspended=True)
    before = server.number
    for _ in range(3):
        assert engine.request_plans("daily", QUESTION) is None
    assert server.found[f"{JOBS}/{JOB}"]["spec"]["suspend"] is True
    assert server.number == before
    said = engine.pending_reason("daily", QUESTION)
    assert said.startswith("its Job was suspended by a queue, a webhook or a person, and waits for")
    assert f"kubectl patch job {JOB} -n ours --type=merge" in said
    suspend(server, suspended=False)
    server.keep(ANSWER)
    server.end("Complete")
    assert engine.request_plans("daily", QUESTION) == ANSWER


def test_a_new_leader_leaves_a_job_to_those_who_suspended_it(server, engine):
    engine_of(server).request_plans("daily", QUESTION)
    suspend(server, suspended=True)
    before = server.number
    for _ in range(2):
        assert engine.request_plans("daily", QUESTION) is None
    assert server.found[f"{JOBS}/{JOB}"]["spec"]["suspend"] is True
    assert server.number == before
    assert engine.pending_reason("daily", QUESTION).startswith("its Job was suspended by a queue")


def test_a_job_that_others_resume_has_its_request_all_the_same(server, engine):
    admit = server.create
    resumed = lambda body: {**body, "spec": {**body["spec"], "suspend": False}}  # noqa: E731
    server.create = lambda path, body: admit(path, resumed(body))
    assert engine.request_plans("daily", QUESTION) is None
    assert server.names() == [JOB, f"{JOB}-question-0"]


def test_a_job_of_another_leader_that_others_resumed_too_early_gets_its_request(server, engine):
    engine_of(server).request_plans("daily", QUESTION)
    del server.found[_path(f"{JOB}-question-0")]
    assert engine.request_plans("daily", QUESTION) is None
    assert server.names() == [JOB, f"{JOB}-question-0"]


def test_a_job_whose_annotations_a_webhook_takes_off_is_ours(server, engine):
    admit = server.create

    def create(path, body):
        return admit(path, {**body, "metadata": {**body["metadata"], "annotations": {}}})

    server.create = create
    engine.request_plans("daily", QUESTION)
    before = server.number
    assert engine.request_plans("daily", QUESTION) is None
    assert server.number == before
    server.keep(ANSWER)
    server.end("Complete")
    assert engine.request_plans("daily", QUESTION) == ANSWER


def test_a_job_of_this_name_for_another_question_is_none(server, engine):
    engine.request_plans("daily", QUESTION)
    (driver,) = server.found[f"{JOBS}/{JOB}"]["spec"]["template"]["spec"]["containers"]
    driver["args"] = [word for word in driver["args"] if not word.startswith("--digest=")]
    assert engine.request_plans("daily", QUESTION) is None
    assert server.names() == []


def test_what_it_waits_for(server, engine):
    assert engine.pending_reason("daily", QUESTION) == ""
    engine.request_plans("daily", QUESTION)
    state = {"waiting": {"reason": "ErrImagePull"}}
    server.pods = [
        {
            "metadata": {"name": "p"},
            "status": {"containerStatuses": [{"image": "planner:1", "state": state}]},
        }
    ]
    said = "its pod waits: ErrImagePull (image planner:1)"
    assert engine.pending_reason("daily", QUESTION) == said


@pytest.mark.parametrize(
    ("name", "begin"),
    [
        pytest.param("daily", "daily-plan-", id="as-it-is"),
        pytest.param("a.b", "a-b-plan-", id="no-dots"),
        pytest.param("x" * 253, "x" * 27 + "-plan-", id="cut-off"),
    ],
)
def test_names_of_jobs(name, begin):
    found = job_name(name, QUESTION)
    assert found.startswith(begin)
    assert len(found) == len(begin) + 8
    assert job_name(name, replace(QUESTION, now_ms=8)) != found
    assert job_name(name + "y", QUESTION) != found
    assert len(label(name)) <= 63


def test_secrets_that_clusters_name():
    way = ZooKeeperSpec("zk:2181", credentials_secret="zk", tls=Tls(secret="tls"))
    spec = KafkaClusterSpec("main", way, BrokersSpec(("b:1",), credentials_secret="kafka"))
    question = RebalanceRequest((ClusterRequest(Desired(spec)), ClusterRequest(DESIRED)), 7)
    assert list(secrets_of(question)) == ["zk", "tls", "kafka"]


def test_settings_with_a_key_twice_are_refused() -> None:
    with pytest.raises(Refused, match=r"cannot be read: image: is given twice"):
        PlannerPodSettings.from_json('{"image": "a:1", "image": "b:1"}')
