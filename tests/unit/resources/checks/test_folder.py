from pathlib import Path

import pytest

from poolkeeper.errors import InvalidInput, Refused
from poolkeeper.resources.checks import folder as checks_folder

EXAMPLES = Path(__file__).parents[4] / "examples" / "manifests"

CLUSTER = """\
apiVersion: poolkeeper.dev/v1alpha1
kind: KafkaCluster
metadata: {name: %s}
spec: {zookeeper: {connect: "%s:2181"}}
"""
POOL = """\
apiVersion: poolkeeper.dev/v1alpha1
kind: ResourcePool
metadata: {name: pool-%s}
spec: {clusterRef: {name: %s}, brokers: {ids: [1]}}
"""
TOPIC = """\
apiVersion: poolkeeper.dev/v1alpha1
kind: Topic
metadata: {name: %s}
spec: {poolRef: {name: pool-%s}}
"""
TWO = "---\n".join(
    [
        *(CLUSTER % (name, name) for name in "ba"),
        *(POOL % (name, name) for name in "ab"),
        *(TOPIC % names for names in (("t2", "a"), ("t1", "a"), ("t3", "b"))),
    ]
)


def load(files, folder):
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return checks_folder.load([folder])


def problems(files, folder):
    with pytest.raises(InvalidInput) as caught:
        load(files, folder)
    return str(caught.value).replace(f"{folder}/", "").replace(str(folder), "DIR").splitlines()


def test_the_example_has_nine_topics_in_three_pools():
    desired = checks_folder.load([EXAMPLES]).desired()
    assert {topic.topic: topic.pool for topic in desired.topics} == {
        f"t{number}": f"pool{(number + 2) // 3}" for number in range(1, 10)
    }
    assert [pool.brokers for pool in desired.pools] == [(1, 2, 3), (4, 5, 6), (7, 8, 9)]
    assert {(topic.partitions, topic.replication_factor) for topic in desired.topics} == {(9, 2)}


def test_each_cluster_has_its_own_pools_and_topics_in_order():
    manifests = checks_folder.load_texts({"m.yaml": TWO})
    assert manifests.documents == 7
    desired = manifests.desired("a")
    assert desired.cluster.name == "a"
    assert [pool.name for pool in desired.pools] == ["pool-a"]
    assert [topic.topic for topic in desired.topics] == ["t1", "t2"]
    assert [topic.topic for topic in manifests.desired("b").topics] == ["t3"]


@pytest.mark.parametrize(
    ("text", "cluster", "reason"),
    [
        pytest.param(
            TWO,
            None,
            "the manifests hold several clusters (expected --cluster with one of a, b)",
            id="unnamed",
        ),
        pytest.param(
            TWO, "c", "the manifests hold no cluster 'c' (expected one of a, b)", id="unknown"
        ),
        pytest.param("", None, "the manifests hold no KafkaCluster (expected one)", id="none"),
    ],
)
def test_a_cluster_that_cannot_be_chosen_is_refused(text, cluster, reason):
    with pytest.raises(Refused) as caught:
        checks_folder.load_texts({"m.yaml": text}).desired(cluster)
    assert str(caught.value) == reason


def test_documents_of_others_are_left_alone_and_counted(tmp_path):
    files = {
        "a/cluster.yaml": CLUSTER % ("main", "zk"),
        "a/b/pool.yml": POOL % ("x", "main"),
        "a/b/topic.json": '{"apiVersion": "poolkeeper.dev/v1alpha1", "kind": "Topic",'
        ' "metadata": {"name": "t"}, "spec": {"poolRef": {"name": "pool-x"}}}',
        "other.yaml": "apiVersion: v1\nkind: ConfigMap\ndata: {a: on, a: off}\n---\n"
        "apiVersion: apps/v1\nkind: Deployment\n",
        "notes.txt": "a: b: c",
        ".git/broken.yaml": "a: b: c",
        ".hidden.yaml": "a: b: c",
    }
    manifests = load(files, tmp_path)
    assert (manifests.documents, manifests.others) == (
        3,
        ("ConfigMap of v1", "Deployment of apps/v1"),
    )


@pytest.mark.parametrize(
    "text",
    [
        "apiVersion: zookeeper.pravega.io/v1beta1\nkind: ZookeeperCluster\nspec: {replicas: 3}\n",
        "apiVersion: kafka.strimzi.io/v1beta2\nkind: KafkaTopic\nspec: {partitions: 3}\n",
        "apiVersion: cluster.redpanda.com/v1alpha2\nkind: Topic\nspec: {partitions: 3}\n",
        "apiVersion: kafka.banzaicloud.io/v1beta1\nkind: KafkaCluster\nspec: {zkAddresses: [z]}\n",
        "apiVersion: sns.services.k8s.aws/v1alpha1\nkind: Topic\nspec: {name: a}\n",
        "apiVersion: example.com/v1\nkind: Rebalance\nspec: {}\n",
        "apiVersion: example.com/v1\nkind: Topic\n",
        "apiVersion: example.com/v1\nkind: Topic\nspec: [poolRef]\n",
        "apiVersion: v1\nkind: ConfigMapList\nitems: [{apiVersion: v1, kind: ConfigMap}]\n",
        "apiVersion: v1\nkind: PodList\nitems: 5\n",
    ],
)
def test_documents_of_others_that_are_a_little_like_ours(text: str) -> None:
    assert len(checks_folder.load_texts({"m.yaml": text}).others) == 1


def test_a_head_of_others_is_short_and_one_line() -> None:
    text = f'apiVersion: "a\\nb"\nkind: {"K" * 1000}\n'
    [head] = checks_folder.load_texts({"m.yaml": text}).others
    assert (len(head), head.splitlines()) == (120, [head])


def test_lists_are_read_item_by_item():
    items = [CLUSTER % ("main", "zk"), POOL % ("x", "main")]
    indented = ["- " + item.strip().replace("\n", "\n  ") + "\n" for item in items]
    text = "apiVersion: v1\nkind: List\nitems:\n" + "".join(indented)
    manifests = checks_folder.load_texts({"m.yaml": text})
    assert [pool.source.line for pool in manifests.pools] == [8]


def test_a_file_reached_twice_is_read_once(tmp_path):
    (tmp_path / "m.yaml").write_text(CLUSTER % ("main", "zk"))
    (tmp_path / "link.yaml").symlink_to(tmp_path / "m.yaml")
    manifests = checks_folder.load([tmp_path, tmp_path / "m.yaml"])
    assert manifests.documents == 1


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        pytest.param(
            {"m.yaml": b"a: 1\nb: \xe9\n"},
            ["m.yaml:2: byte 0xe9 is not UTF-8 (expected UTF-8)"],
            id="latin-1",
        ),
        pytest.param(
            {"m.yaml": b"a: \x00\n"},
            ["m.yaml:1: character '\\x00' is not allowed (expected printable text)"],
            id="binary",
        ),
        pytest.param(
            {"readme.md": "hello"},
            ["DIR: holds no manifests (expected files *.yaml, *.yml, *.json)"],
            id="a-folder-without-manifests",
        ),
        pytest.param(
            {"b.yaml": TOPIC % ("t", "x"), "a.yaml": "a: [\n"},
            [
                "a.yaml:2: cannot be read: did not find expected node content"
                " while parsing a flow node (expected YAML)",
                "b.yaml:4: spec.poolRef.name: pool 'pool-x' does not exist (there are none)",
            ],
            id="problems-of-several-files-in-order",
        ),
        pytest.param(
            {
                "broken.yaml": f"{CLUSTER % ('main', 'zk')}---\n{POOL % ('x', 'main')}a: [\n",
                "pools.yaml": POOL % ("y", "main"),
                "topics.yaml": "---\n".join(TOPIC % names for names in (("t", "x"), ("u", "z"))),
            },
            [
                "broken.yaml:11: cannot be read: did not find expected node content"
                " while parsing a flow node (expected YAML)",
                "topics.yaml:9: spec.poolRef.name: pool 'pool-z' does not exist (did you mean"
                " 'pool-y'?)",
            ],
            id="what-a-broken-file-may-declare-is-not-missed",
        ),
        pytest.param(
            {"pools.yaml": b"a: \xe9\n", "topics.yaml": TOPIC % ("t", "x")},
            ["pools.yaml:1: byte 0xe9 is not UTF-8 (expected UTF-8)"],
            id="what-a-file-without-a-text-may-declare-is-not-missed",
        ),
    ],
)
def test_what_is_wrong_with_files(tmp_path, files, expected):
    assert problems(files, tmp_path) == expected


def test_a_path_that_does_not_exist(tmp_path):
    with pytest.raises(InvalidInput) as caught:
        checks_folder.load([tmp_path / "nowhere"])
    reason = "cannot be read: no such file or directory (expected a file or a folder)"
    assert str(caught.value) == f"{tmp_path}/nowhere: {reason}"


def test_a_byte_order_mark_is_no_problem(tmp_path):
    text = b"\xef\xbb\xbf" + (CLUSTER % ("main", "zk")).encode()
    assert load({"m.yaml": text}, tmp_path).documents == 1


def test_a_rebalance_is_checked_and_otherwise_left_alone() -> None:
    text = "apiVersion: poolkeeper.dev/v1alpha1\nkind: Rebalance\nmetadata: {name: r}\nspec: "
    found = checks_folder.load_texts({"r.yaml": f"{text}{{}}\n"})
    assert found == checks_folder.Manifests(rebalances=1)
    with pytest.raises(InvalidInput) as refused:
        checks_folder.load_texts({"r.yaml": f"{text}{{engine: Flink, clusters: {{}}}}\n"})
    assert [(problem.line, problem.field) for problem in refused.value.problems] == [
        (4, "spec.clusters"),
        (4, "spec.engine"),
    ]
    with pytest.raises(
        InvalidInput, match=r"Rebalance 'r' is declared twice \(first at r.yaml:1\)"
    ):
        checks_folder.load_texts({"r.yaml": f"{text}{{}}\n", "s.yaml": f"{text}{{}}\n"})


@pytest.mark.parametrize(
    ("head", "said"),
    [
        ("apiVersion: poolkeeper.dev/v1alpha1\nkind: [Topic]", "r.yaml:2: kind: is a list"),
        ("apiVersion: poolkeeper.dev/v1alpha1\nkind: {}", "r.yaml:2: kind: is a mapping"),
        ("apiVersion: poolkeeper.dev/v1alpha1\nkind: 5", "r.yaml:2: kind: is 5"),
        ("apiVersion: [x]\nkind: Topic", "r.yaml:1: apiVersion: is a list"),
    ],
)
def test_a_head_that_is_no_text_is_told_with_what_came(head: str, said: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        checks_folder.load_texts({"r.yaml": f"{head}\nmetadata: {{name: r}}\nspec: {{}}\n"})
    assert [str(problem).startswith(said) for problem in refused.value.problems] == [True]


def test_metadata_that_kubectl_and_charts_write_is_no_problem() -> None:
    head = "apiVersion: poolkeeper.dev/v1alpha1\nkind: Rebalance\nspec: {}\nmetadata:\n  name: r\n"
    rest = """\
  creationTimestamp: null
  labels:
  annotations: {argocd.argoproj.io/sync-wave: "-1", Example.com/note: "", a_b.c: "x: y"}
"""
    assert checks_folder.load_texts({"r.yaml": head + rest}).rebalances == 1
    labels = '  labels: {helm.sh/chart: poolkeeper-0.1.0, "a": "", B_1: 1.a}\n'
    assert checks_folder.load_texts({"r.yaml": head + labels}).rebalances == 1
