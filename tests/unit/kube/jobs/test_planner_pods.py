import json
from dataclasses import replace

import pytest

from poolkeeper.errors import Refused
from poolkeeper.kube.jobs import planner_pods
from poolkeeper.kube.jobs.planner_pods import POD_SECURITY, SECURITY, PlannerJob, PlannerPodSettings

OWNER = {"apiVersion": "poolkeeper.dev/v1alpha1", "kind": "Rebalance", "name": "daily", "uid": "u"}
ORDER = PlannerJob(
    "daily-plan-1", "ours", OWNER, "sha256:1", 2, {"poolkeeper.dev/rebalance": "x"}, ("zk", "tls")
)
LABELS = {
    "app.kubernetes.io/part-of": "poolkeeper",
    "poolkeeper.dev/job": "daily-plan-1",
    "poolkeeper.dev/rebalance": "x",
}
TMP = {"name": "tmp", "mountPath": "/tmp"}
SECRET_MOUNTS = [
    {"name": f"secret-{n}", "mountPath": f"/etc/poolkeeper/secrets/{name}", "readOnly": True}
    for n, name in enumerate(("zk", "tls"))
]
SECRET_VOLUMES = [
    {"name": f"secret-{n}", "secret": {"secretName": name, "optional": True}}
    for n, name in enumerate(("zk", "tls"))
]
COMMON_CONF = {
    "spark.driver.bindAddress": "$(POD_IP)",
    "spark.driver.extraJavaOptions": "-XX:+UseSerialGC",
    "spark.driver.host": "$(POD_IP)",
    "spark.driver.memory": "1024m",
    "spark.executor.extraJavaOptions": "-XX:+UseSerialGC",
    "spark.kubernetes.allocation.batch.delay": "200ms",
    "spark.scheduler.maxRegisteredResourcesWaitingTime": "120s",
    "spark.scheduler.minRegisteredResourcesRatio": "1.0",
}


def arguments(master, conf):
    return [
        "fleet",
        "answer",
        "--question=/etc/poolkeeper/question",
        "--digest=sha256:1",
        "--job=ours/daily-plan-1",
        "--job-uid=$(JOB_UID)",
        "--message=/dev/termination-log",
        "--secrets=/etc/poolkeeper/secrets",
        f"--master={master}",
        *(f"--conf={key}={value}" for key, value in sorted(conf.items())),
    ]


def test_a_job_that_works_alone():
    labels = {**LABELS, "app.kubernetes.io/component": "planner"}

    def of(path):
        return {"fieldRef": {"fieldPath": path}}

    driver = {
        "name": "driver",
        "image": "planner:1",
        "imagePullPolicy": "IfNotPresent",
        "workingDir": "/tmp",
        "args": arguments("local[2]", COMMON_CONF),
        "env": [
            {"name": "POD_IP", "valueFrom": of("status.podIP")},
            {"name": "POD_NAME", "valueFrom": of("metadata.name")},
            {
                "name": "JOB_UID",
                "valueFrom": of("metadata.labels['batch.kubernetes.io/controller-uid']"),
            },
        ],
        "resources": {
            "requests": {"cpu": "2", "memory": "4096Mi"},
            "limits": {"memory": "4096Mi"},
        },
        "securityContext": SECURITY,
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "volumeMounts": [
            TMP,
            {"name": "question", "mountPath": "/etc/poolkeeper/question", "readOnly": True},
            *SECRET_MOUNTS,
        ],
    }
    sources = [{"configMap": {"name": f"daily-plan-1-question-{n}"}} for n in range(2)]
    assert planner_pods.job(ORDER, PlannerPodSettings("planner:1", account="planner")) == {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": "daily-plan-1",
            "namespace": "ours",
            "labels": labels,
            "annotations": {"poolkeeper.dev/question": "sha256:1"},
            "ownerReferences": [OWNER],
        },
        "spec": {
            "suspend": True,
            "backoffLimit": 2,
            "activeDeadlineSeconds": 3600,
            "ttlSecondsAfterFinished": 3600,
            "podFailurePolicy": {
                "rules": [{"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}]
            },
            "template": {
                "metadata": {"labels": labels},
                "spec": {
                    "restartPolicy": "Never",
                    "serviceAccountName": "planner",
                    "automountServiceAccountToken": True,
                    "enableServiceLinks": False,
                    "securityContext": POD_SECURITY,
                    "containers": [driver],
                    "volumes": [
                        {"name": "tmp", "emptyDir": {"sizeLimit": "2Gi"}},
                        {"name": "question", "projected": {"sources": sources}},
                        *SECRET_VOLUMES,
                    ],
                },
            },
        },
    }


PLACED = PlannerPodSettings(
    "planner:1",
    pull_secrets=("a", "b"),
    executors=3,
    cores=4,
    memory_mib=8192,
    node_selector={"disk": "ssd"},
    tolerations=({"key": "x"},),
    priority_class="low",
    labels={"team": "kafka"},
    conf={"spark.task.maxFailures": "1"},
)


def test_a_job_with_executors_says_what_they_are_like():
    conf = {
        **COMMON_CONF,
        "spark.driver.memory": "2048m",
        "spark.dynamicAllocation.enabled": "true",
        "spark.dynamicAllocation.executorIdleTimeout": "30s",
        "spark.dynamicAllocation.initialExecutors": "3",
        "spark.dynamicAllocation.maxExecutors": "3",
        "spark.dynamicAllocation.minExecutors": "0",
        "spark.executor.cores": "4",
        "spark.executor.memory": "2048m",
        "spark.executor.memoryOverhead": "6144m",
        "spark.kubernetes.container.image": "planner:1",
        "spark.kubernetes.container.image.pullPolicy": "IfNotPresent",
        "spark.kubernetes.container.image.pullSecrets": "a,b",
        "spark.kubernetes.driver.pod.name": "$(POD_NAME)",
        "spark.kubernetes.executor.podNamePrefix": "$(POD_NAME)",
        "spark.kubernetes.executor.podTemplateContainerName": "executor",
        "spark.kubernetes.executor.podTemplateFile": "/etc/poolkeeper/question/executor.json",
        "spark.kubernetes.namespace": "ours",
        "spark.task.maxFailures": "1",
    }
    pod = planner_pods.job(ORDER, PLACED)["spec"]["template"]["spec"]
    server = "k8s://https://$(KUBERNETES_SERVICE_HOST):$(KUBERNETES_SERVICE_PORT)"
    assert pod["containers"][0]["args"] == arguments(server, conf)
    assert {key: pod[key] for key in PLACEMENT} == PLACEMENT


PLACEMENT = {
    "securityContext": POD_SECURITY,
    "imagePullSecrets": [{"name": "a"}, {"name": "b"}],
    "nodeSelector": {"disk": "ssd"},
    "tolerations": [{"key": "x"}],
    "priorityClassName": "low",
}


STORED = PlannerPodSettings("planner:1", storage="s3a://bucket/plans", storage_secret="keys")


def test_the_driver_alone_has_what_the_store_of_plans_needs():
    pod = planner_pods.job(ORDER, STORED)["spec"]["template"]["spec"]
    (driver,) = pod["containers"]
    words = [word for word in driver["args"] if word.startswith("--storage")]
    assert words == [
        "--storage=s3a://bucket/plans",
        "--storage-settings=/etc/poolkeeper/storage",
    ]
    mount = {"name": "storage", "mountPath": "/etc/poolkeeper/storage", "readOnly": True}
    assert driver["volumeMounts"][-1] == mount
    secret = {"secretName": "keys", "optional": True}
    assert pod["volumes"][-1] == {"name": "storage", "secret": secret}
    assert "storage" not in json.dumps(planner_pods.executor(ORDER, STORED))


def test_a_store_that_needs_no_secret():
    settings = replace(STORED, storage_secret="", storage_from_bytes=7)
    pod = planner_pods.job(ORDER, settings)["spec"]["template"]["spec"]
    words = [w for w in pod["containers"][0]["args"] if w.startswith("--storage")]
    assert words == ["--storage=s3a://bucket/plans", "--storage-from=7"]
    assert (
        pod["volumes"]
        == planner_pods.job(ORDER, PlannerPodSettings("planner:1"))["spec"]["template"]["spec"][
            "volumes"
        ]
    )


def test_an_executor_has_no_token_and_no_question():
    labels = {"team": "kafka", **LABELS, "app.kubernetes.io/component": "planner-executor"}
    assert planner_pods.executor(ORDER, PLACED) == {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"labels": labels},
        "spec": {
            "automountServiceAccountToken": False,
            "enableServiceLinks": False,
            "containers": [
                {
                    "name": "executor",
                    "workingDir": "/tmp",
                    "securityContext": SECURITY,
                    "volumeMounts": [TMP, *SECRET_MOUNTS],
                }
            ],
            "volumes": [{"name": "tmp", "emptyDir": {"sizeLimit": "2Gi"}}, *SECRET_VOLUMES],
            **PLACEMENT,
        },
    }


def test_settings_are_read_from_an_object():
    text = json.dumps({"image": "planner:1", "executors": 3, "tolerations": [{"key": "x"}]})
    expected = PlannerPodSettings("planner:1", executors=3, tolerations=({"key": "x"},))
    assert PlannerPodSettings.from_json(text) == expected


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param("{", "cannot be read", id="no-json"),
        pytest.param("{}", "cannot be read", id="no-image"),
        pytest.param("3", "cannot be read", id="no-object"),
        pytest.param('{"image": "a", "cpu": 1}', "cpu is unknown", id="a-field-of-another-time"),
    ],
)
def test_settings_that_are_refused(text, said):
    with pytest.raises(Refused, match=said):
        PlannerPodSettings.from_json(text)
