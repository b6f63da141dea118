"""KafkaClusters, as the API server and our reader judge them."""

import pytest

from admission import DURATION, NO_TIME, OUT_OF_RANGE, SIZE, ask_reader, ask_server, at_least, row
from manifests import CLUSTER

SERVERS = "every server is written as host:port, with commas between them"
SECRET = "spec.zookeeper.credentialsSecretRef.name"
HASH = f"sha256:{'0' * 64}"


def cluster(name, spec, *refusals, **more):
    return row(CLUSTER, name, spec, *refusals, **more)


def connect(text):
    return {"zookeeper": {"connect": text}}


def window(cron="0 22 * * *", duration="8h"):
    return {"execution": {"windows": [{"cron": cron, "duration": duration}]}}


ROWS = [
    *(
        cluster(f"the ensemble {text}", connect(text))
        for text in ("zk:1", "a:1,b:2", "a:1/k", "a:1,b:2/k/l", "[::1]:2181,b:2/k")
    ),
    cluster(
        "a chroot after each host",
        connect("a:1/k,b:2/k"),
        "spec.zookeeper.connect: the chroot stands once, after the last host",
    ),
    *(
        cluster(
            f"the chroot of {text}",
            connect(text),
            "spec.zookeeper.connect: the chroot is no path; "
            "write such as zk-1:2181,zk-2:2181/kafka",
        )
        for text in ("a:1/", "a:1/k/", "a:1//k")
    ),
    *(
        cluster(f"the servers {text!r}", connect(text), f"spec.zookeeper.connect: {SERVERS}")
        for text in ("a", "a,b:1", "a:1,,b:2", "a:1, b:2", "a:x", ":1", "a:1,")
    ),
    cluster("brokers", {"brokers": {"bootstrapServers": "a:1,b:2"}}),
    cluster(
        "brokers without a port",
        {"brokers": {"bootstrapServers": "a:1,b"}},
        f"spec.brokers.bootstrapServers: {SERVERS}",
    ),
    cluster(
        "brokers with a chroot",
        {"brokers": {"bootstrapServers": "a:1/k"}},
        "spec.brokers.bootstrapServers: bootstrap servers have no chroot and no scheme",
    ),
    cluster("a certificate with its key", {"zookeeper": {"tls": {"certificate": "c", "key": "k"}}}),
    cluster("a Secret", {"zookeeper": {"credentialsSecretRef": {"name": "zk.main-1"}}}),
    *(
        cluster(
            f"the Secret {name}",
            {"zookeeper": {"credentialsSecretRef": {"name": name}}},
            f"{SECRET}: {SECRET} in body should match"
            " '^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$'",
        )
        for name in ("..", "a/b", "../configmaps/a", "a?watch=1", "a#b", "A", "a\n", "-a")
    ),
    cluster("a Secret for TLS", {"zookeeper": {"tls": {"secretRef": {"name": "tls"}}}}),
    cluster(
        "a certificate without its key",
        {"zookeeper": {"tls": {"certificate": "c"}}},
        "spec.zookeeper.tls: certificate and key belong together",
    ),
    cluster(
        "a Secret and files",
        {"brokers": {"bootstrapServers": "a:1", "tls": {"ca": "c", "secretRef": {"name": "s"}}}},
        "spec.brokers.tls: either secretRef or files",
    ),
    *(
        cluster(f"Kafka {version}", {"kafkaVersion": version})
        for version in ("0.10.1", "0.11", "0.11.0.3", "1.1", "2.8.2", "3.9")
    ),
    *(
        cluster(
            f"Kafka {version}",
            {"kafkaVersion": version},
            "spec.kafkaVersion: versions 0.10.1 to 3.9 are known; "
            "later ones have no ZooKeeper mode",
        )
        for version in ("0.9.0", "0.10.0", "1.2", "2.9", "3.10", "4.0")
    ),
    cluster(
        "words in the wrong case",
        {"mode": "apply", "approval": {"policy": "auto"}, "unmanagedTopics": "ignore"},
        'spec.approval.policy: supported values: "Auto", "Manual"',
        'spec.mode: supported values: "Apply", "PlanOnly", "Paused", "RollBack"',
        'spec.unmanagedTopics: supported values: "Ignore", "EvacuateOnly", "Manage"',
    ),
    cluster("an approved plan", {"approval": {"plans": [HASH]}}),
    cluster(
        "approved plans that are none",
        {"approval": {"plans": ["latest", HASH.upper(), HASH[:-1]]}},
        *(
            f"spec.approval.plans[{number}]: spec.approval.plans[{number}] in body should match "
            "'^sha256:[0-9a-f]{64}$'"
            for number in range(3)
        ),
    ),
    cluster(
        "a plan approved twice",
        {"approval": {"plans": [HASH, HASH]}},
        f'spec.approval.plans[1]: Duplicate value: "{HASH}"',
    ),
    *(
        cluster(f"the rate {rate!r}", {"execution": {"throttle": {"mode": "Fixed", "rate": rate}}})
        for rate in (1, "1", "1.5Gi", "1e6", "7Ei")
    ),
    *(
        cluster(
            f"the rate {rate!r}",
            {"execution": {"throttle": {"rate": rate}}},
            f"spec.execution.throttle.rate: {OUT_OF_RANGE}",
        )
        for rate in (0, "0", "0.0Ki", "8Ei")
    ),
    *(
        cluster(
            f"the rate {rate!r}",
            {"execution": {"throttle": {"rate": rate}}},
            f"spec.execution.throttle.rate: spec.execution.throttle.rate {SIZE}",
        )
        for rate in ("100MB", "100m", "fast")
    ),
    cluster(
        "no moves",
        {"execution": {"maxMoves": 0, "maxMovesPerBroker": 0, "maxBytes": 0}},
        f"spec.execution.maxBytes: {OUT_OF_RANGE}",
        at_least(1, "spec.execution.maxMoves"),
        at_least(1, "spec.execution.maxMovesPerBroker"),
    ),
    cluster("no time to wait for", {"heal": {"after": "0s"}, "balancing": {"coolDown": "0s"}}),
    cluster(
        "no time to work in",
        {
            "execution": {
                "stageDeadline": "0s",
                "windows": [{"cron": "0 22 * * *", "duration": "0h"}],
            },
            "load": {"source": "Prometheus", "prometheus": {"url": "http://p", "window": "0m"}},
        },
        f"spec.execution.stageDeadline: {NO_TIME}",
        f"spec.execution.windows[0].duration: {NO_TIME}",
        f"spec.load.prometheus.window: {NO_TIME}",
    ),
    cluster(
        "a time in days", {"heal": {"after": "2d"}}, f"spec.heal.after: spec.heal.after {DURATION}"
    ),
    cluster("a window", window()),
    cluster(
        "a window of four fields",
        window(cron="0 22 * *"),
        "spec.execution.windows[0].cron: cron has five fields, minute hour day month weekday",
    ),
    cluster(
        "a window at hour 25",
        window(cron="0 25 * * *"),
        offline_differs="what a schedule means is more than a rule can tell",
    ),
    cluster(
        "a window without an end",
        {"execution": {"windows": [{"cron": "0 22 * * *"}]}},
        "spec.execution.windows[0].duration: Required value",
    ),
    cluster("a restart lock", {"execution": {"restartLock": "/poolkeepers/lock"}}),
    cluster(
        "a restart lock that is no path",
        {"execution": {"restartLock": "ops"}},
        "spec.execution.restartLock: spec.execution.restartLock in body should match '^(/[^/]+)+$'",
    ),
    *(
        cluster(
            f"the restart lock {path}",
            {"execution": {"restartLock": path}},
            "spec.execution.restartLock: nodes below /poolkeeper are Poolkeeper's own; "
            "take another path",
        )
        for path in ("/poolkeeper", "/poolkeeper/run")
    ),
    cluster("unmanaged topics in a pool", {"unmanagedTopics": "Manage", "defaultPool": "fast"}),
    cluster(
        "unmanaged topics nowhere",
        {"unmanagedTopics": "Manage"},
        "spec.unmanagedTopics: unmanagedTopics Manage needs a defaultPool to place them in",
    ),
    cluster(
        "sizes from the brokers",
        {"load": {"source": "LogDirs"}, "brokers": {"bootstrapServers": "a:1"}},
    ),
    cluster(
        "sizes from nowhere",
        {"load": {"source": "LogDirs"}},
        "spec.load.source: LogDirs asks the brokers, so it needs spec.brokers",
    ),
    *(
        cluster(
            f"Prometheus as {sorted(load)}",
            {"load": load},
            "spec.load: source Prometheus and the settings of prometheus belong together",
        )
        for load in ({"source": "Prometheus"}, {"prometheus": {"url": "http://p:9090"}})
    ),
    cluster(
        "limits of nothing",
        {"limits": {"partitions": 0, "replicasPerBroker": 0}, "heal": {"maxBrokers": 0}},
        at_least(1, "spec.heal.maxBrokers"),
        at_least(1, "spec.limits.partitions"),
        at_least(1, "spec.limits.replicasPerBroker"),
    ),
]


@pytest.mark.parametrize("row", ROWS)
def test_creations(api, row):
    ask_server(api, row)


@pytest.mark.parametrize("row", ROWS)
def test_our_reader_comes_to_the_same_verdict(row):
    ask_reader(row)
