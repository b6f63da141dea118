import pytest

from poolkeeper.kube.jobs import pod_failures


def job(reason, *, retries=2, message=""):
    condition = {"type": "Failed", "status": "True", "reason": reason, "message": message}
    spec = {"backoffLimit": retries, "activeDeadlineSeconds": 60}
    return {"spec": spec, "status": {"conditions": [condition]}}


def pod(name="p", phase="Failed", *, conditions=(), limit="", status=None, **state):
    container = {"name": "driver", "image": "planner:1", "state": state}
    limits = {"limits": {"memory": limit}} if limit else {}
    return {
        "metadata": {"name": name, "creationTimestamp": f"2026-01-0{name[-1:]}T00:00:00Z"},
        "spec": {"containers": [{"name": "driver", "resources": limits}]},
        "status": {
            "phase": phase,
            "conditions": list(conditions),
            "containerStatuses": [container] if state else [],
            **(status or {}),
        },
    }


def ended(code, message="", reason="Error"):
    return {"exitCode": code, "message": message, "reason": reason}


@pytest.mark.parametrize(
    ("job", "pods", "said"),
    [
        pytest.param(
            job("BackoffLimitExceeded"),
            [
                pod("p1", terminated=ended(1, "old")),
                pod("p2", terminated=ended(3, "a\nno Spark\n")),
            ],
            "planning failed 3 times: no Spark",
            id="the-last-line-of-the-latest-pod",
        ),
        pytest.param(
            job("BackoffLimitExceeded", retries=0),
            [pod("p1", terminated=ended(2))],
            "planning failed: exit code 2 without a message",
            id="not-a-word",
        ),
        pytest.param(
            job("BackoffLimitExceeded"),
            [pod("p1", terminated=ended(137, reason="OOMKilled"), limit="4Gi")],
            "planning failed 3 times: killed, as a rule for using more memory than its limit (4Gi)",
            id="out-of-memory",
        ),
        pytest.param(
            job("BackoffLimitExceeded"),
            [],
            "planning failed 3 times: its pods are gone",
            id="nobody-left-to-ask",
        ),
        pytest.param(
            job("DeadlineExceeded"),
            [pod("p1", terminated=ended(143))],
            "planning was not finished within 60 s",
            id="too-long",
        ),
        pytest.param(
            job("PodFailurePolicy", message="as the policy says"),
            [],
            "planning failed: as the policy says",
            id="as-kubernetes-says",
        ),
        pytest.param(
            job("BackoffLimitExceeded"),
            [pod("p1", status={"reason": "Evicted", "message": "low on disk"})],
            "planning failed 3 times: low on disk",
            id="evicted",
        ),
        pytest.param(
            job("BackoffLimitExceeded"),
            [pod("p1", conditions=[{"type": "DisruptionTarget", "status": "True"}])],
            (
                "planning failed 3 times: its pod was removed from its node (evicted, drained or"
                " preempted)"
            ),
            id="disrupted",
        ),
    ],
)
def test_failures(job, pods, said):
    assert pod_failures.failure(job, pods) == said


UNSCHEDULABLE = {
    "type": "PodScheduled",
    "status": "False",
    "reason": "Unschedulable",
    "message": "0/3 nodes are available",
}


@pytest.mark.parametrize(
    ("pods", "said"),
    [
        pytest.param([], "", id="no-pod-yet"),
        pytest.param([pod("p1", "Running", running={})], "", id="works"),
        pytest.param(
            [pod("p1", "Pending", waiting={"reason": "ContainerCreating"})], "", id="is-begun"
        ),
        pytest.param(
            [pod("p1", "Pending", waiting={"reason": "ImagePullBackOff", "message": "not there"})],
            "its pod waits: ImagePullBackOff (image planner:1): not there",
            id="no-image",
        ),
        pytest.param(
            [pod("p1", "Pending", waiting={"reason": "CreateContainerConfigError"})],
            "its pod waits: CreateContainerConfigError",
            id="something-is-not-there",
        ),
        pytest.param(
            [pod("p1", "Pending", conditions=[UNSCHEDULABLE])],
            "its pod cannot be scheduled: 0/3 nodes are available",
            id="no-node",
        ),
        pytest.param(
            [
                pod("p1", "Running", running={}),
                pod("p2", "Pending", conditions=[UNSCHEDULABLE]),
                pod("p3", "Running", running={}),
            ],
            "its pod cannot be scheduled: 0/3 nodes are available",
            id="one-executor-of-two-has-no-node",
        ),
        pytest.param(
            [pod("p1", "Failed", conditions=[UNSCHEDULABLE]), pod("p2", "Running", running={})],
            "",
            id="what-is-over-waits-for-nothing",
        ),
    ],
)
def test_what_is_waited_for(pods, said):
    assert pod_failures.pending_reason(pods) == said


THEN = "2026-01-31T12:00:00Z"
HOW = "`kubectl describe job daily-plan -n ours`"
REFUSED = f"its pod is not created, as a quota, a limit or a policy refuses it: {HOW}"


@pytest.mark.parametrize(
    ("metadata", "status", "seen_s", "said"),
    [
        pytest.param({}, {}, 30, "", id="not-started"),
        pytest.param({}, {"startTime": THEN}, 5, "", id="started-just-now"),
        pytest.param({}, {"startTime": THEN, "ready": 0}, 30, REFUSED, id="no-pod"),
        pytest.param({"deletionTimestamp": THEN}, {}, 5, "", id="deleted-just-now"),
        pytest.param(
            {"deletionTimestamp": THEN, "finalizers": ["a.b/c"]},
            {"startTime": THEN},
            30,
            f"an earlier Job is being deleted, and finalizers keep it (a.b/c): {HOW}",
            id="kept-by-a-finalizer",
        ),
        pytest.param(
            {},
            {"startTime": THEN, "conditions": [{"type": "Complete", "status": "True"}]},
            30,
            "",
            id="has-ended",
        ),
    ],
)
def test_a_job_without_pods_says_why(metadata, status, seen_s, said):
    job = {"metadata": {"name": "daily-plan", "namespace": "ours", **metadata}, "status": status}
    assert pod_failures.absence_reason(job, seen_s) == said


def test_a_job_that_is_suspended_says_how_it_is_resumed():
    job = {"metadata": {"name": "daily-plan", "namespace": "ours"}, "spec": {"suspend": True}}
    assert pod_failures.absence_reason(job, 0.0) == (
        "its Job was suspended by a queue, a webhook or a person, and waits for them; to resume it:"
        """ `kubectl patch job daily-plan -n ours --type=merge -p '{"spec":{"suspend":false}}'`"""
    )
