"""The pods that the chart makes: their container, where they run, and who selects them."""

from chart.rendering import (
    EVERYTHING,
    FULLNAME,
    of_kind,
    render,
    the_only,
)


def test_the_container():
    deployment = the_only(
        render(
            {
                "image": {"repository": "example.test/poolkeeper", "digest": "sha256:" + "0" * 64},
                "watchNamespaces": ["pay", "shop"],
                "operator": {
                    "planners": 3,
                    "settle": "1m30s",
                    "port": 9090,
                    "logLevel": "debug",
                    "lease": "theirs",
                    "leaseSeconds": 4,
                },
                "extraEnv": [{"name": "TZ", "value": "UTC"}],
                "extraVolumes": [{"name": "ca", "secret": {"secretName": "kafka-ca"}}],
                "extraVolumeMounts": [{"name": "ca", "mountPath": "/ca", "readOnly": True}],
            }
        ),
        "Deployment",
    )
    pod = deployment["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert container == {
        "name": "operator",
        "image": "example.test/poolkeeper@sha256:" + "0" * 64,
        "imagePullPolicy": "IfNotPresent",
        "args": [
            "run",
            "--kubernetes",
            "--namespace=$(POD_NAMESPACE)",
            "--watch-namespace=pay",
            "--watch-namespace=shop",
            "--lease=theirs",
            "--lease-seconds=4",
            f"--lease-owner={FULLNAME}",
            "--identity=$(POD_NAME)",
            "--listen=0.0.0.0:9090",
            "--log-format=json",
            "--log-level=debug",
            "--planners=3",
            "--settle=1m30s",
        ],
        "env": [
            {"name": "POD_NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
            {
                "name": "POD_NAMESPACE",
                "valueFrom": {"fieldRef": {"fieldPath": "metadata.namespace"}},
            },
            {"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
            {"name": "TZ", "value": "UTC"},
        ],
        "ports": [{"name": "http", "containerPort": 9090, "protocol": "TCP"}],
        "startupProbe": _probe("/healthz", 2, 60),
        "livenessProbe": _probe("/healthz", 10, 3),
        "readinessProbe": _probe("/readyz", 5, 2),
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
        "resources": {
            "requests": {"cpu": "200m", "memory": "512Mi"},
            "limits": {"memory": "2Gi"},
        },
        "volumeMounts": [
            {"name": "tmp", "mountPath": "/tmp"},
            {"name": "ca", "mountPath": "/ca", "readOnly": True},
        ],
    }
    assert pod["volumes"] == [
        {"name": "tmp", "emptyDir": {"sizeLimit": "1Gi"}},
        {"name": "ca", "secret": {"secretName": "kafka-ca"}},
    ]


def _probe(path, period_s, failures):
    return {
        "httpGet": {"path": path, "port": "http"},
        "periodSeconds": period_s,
        "failureThreshold": failures,
        "timeoutSeconds": 5,
    }


def test_where_the_pods_run_is_up_to_the_values():
    values = {
        "priorityClassName": "platform",
        "nodeSelector": {"kind": "infra"},
        "tolerations": [{"key": "infra", "operator": "Exists"}],
        "affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": []}},
        "terminationGracePeriodSeconds": 45,
        "podAnnotations": {"a": "b"},
        "podLabels": {"team": "data"},
        "image": {"pullSecrets": ["registry"]},
    }
    template = the_only(render(values), "Deployment")["spec"]["template"]
    for key in ("priorityClassName", "nodeSelector", "tolerations", "affinity"):
        assert template["spec"][key] == values[key]
    assert template["spec"]["terminationGracePeriodSeconds"] == 45
    assert template["spec"]["imagePullSecrets"] == [{"name": "registry"}]
    assert template["metadata"]["annotations"] == {"a": "b"}
    assert template["metadata"]["labels"]["team"] == "data"


def test_a_spread_counts_our_own_pods_only():
    deployment = the_only(render(), "Deployment")
    (spread,) = deployment["spec"]["template"]["spec"]["topologySpreadConstraints"]
    assert spread["labelSelector"] == deployment["spec"]["selector"]


def network_policies(objects):
    return {one["metadata"]["name"]: one["spec"] for one in of_kind(objects, "NetworkPolicy")}


def test_the_pod_of_helm_test_reaches_what_the_operator_does():
    """Where the namespace denies all that no policy allows."""
    objects = render(EVERYTHING)
    policies = network_policies(objects)
    policy = policies[f"{FULLNAME}-test"]
    labels = the_only(objects, "Pod")["metadata"]["labels"]
    assert policy["podSelector"]["matchLabels"].items() <= labels.items()
    assert policy["egress"] == policies[FULLNAME]["egress"]
    assert "ingress" not in policy


def test_selectors_meet_the_pods_and_no_version():
    labels = the_only(render(), "Deployment")["spec"]["template"]["metadata"]["labels"]
    objects = render(EVERYTHING)
    selectors = [
        the_only(objects, "Deployment")["spec"]["selector"]["matchLabels"],
        the_only(objects, "PodDisruptionBudget")["spec"]["selector"]["matchLabels"],
        network_policies(objects)[FULLNAME]["podSelector"]["matchLabels"],
        the_only(objects, "PodMonitor")["spec"]["selector"]["matchLabels"],
    ]
    for selector in selectors:
        assert set(selector) == {"app.kubernetes.io/name", "app.kubernetes.io/instance"}
        assert selector.items() <= labels.items()
