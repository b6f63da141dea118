"""Whole outputs of `validate`, and its warnings of configs that only some releases take."""

import json

import pytest

from poolkeeper.cli import main
from unit.cli.small_cluster import CLUSTER, POOLS, TOPIC

UNDECLARED = CLUSTER.replace('  kafkaVersion: "2.8"\n', "")


@pytest.mark.parametrize(
    ("cluster", "config", "warnings"),
    [
        pytest.param(CLUSTER, {"flush.messages": "0"}, [], id="declared"),
        pytest.param(UNDECLARED, {"flush.messages": "1"}, [], id="fine-everywhere"),
        pytest.param(
            UNDECLARED,
            {"flush.messages": "0"},
            [
                "warning: Topic shop/t, spec.config[flush.messages]: for Kafka 3.3: '0' is out of "
                "range (expected a whole number from 1 to 9223372036854775807); declare "
                "spec.kafkaVersion of its KafkaCluster, or see `poolkeeper plan`"
            ],
            id="refused-by-some",
        ),
        pytest.param(
            UNDECLARED,
            {"max.compaction.lag.ms": "5"},
            [
                "warning: Topic shop/t, spec.config[max.compaction.lag.ms]: brokers before Kafka "
                "2.3 ignore it; declare spec.kafkaVersion of its KafkaCluster, or see "
                "`poolkeeper plan`"
            ],
            id="unknown-to-some",
        ),
    ],
)
def test_configs_that_only_some_releases_take(tmp_path, capsys, cluster, config, warnings):
    said = "".join(f'    {key}: "{value}"\n' for key, value in config.items())
    text = "---\n".join((cluster, POOLS, f"{TOPIC}  config:\n{said}"))
    (tmp_path / "all.yaml").write_text(text)
    assert main.main(["validate", "-f", str(tmp_path)]) == 0
    assert capsys.readouterr().err.splitlines() == warnings


def test_validate_counts_what_it_found(run, manifests):
    assert run("validate", "-f", manifests) == (
        0,
        "valid: 1 KafkaCluster, 2 ResourcePools, 1 Topic\n",
        "",
    )


def test_validate_as_data(run, manifests):
    (manifests / "other.yaml").write_text("apiVersion: v1\nkind: ConfigMap\n")
    code, out, err = run("validate", "-f", manifests, "--output", "json")
    assert (code, err) == (0, "")
    assert json.loads(out) == {
        "errors": [],
        "documents": {"KafkaCluster": 1, "ResourcePool": 2, "Topic": 1, "Rebalance": 0},
        "clusters": ["main"],
        "ignored": 1,
        "others": ["ConfigMap of v1"],
    }


def test_validate_names_all_problems_with_file_line_and_field(run, manifests):
    file = manifests / "topics.yaml"
    file.write_text(TOPIC.replace("slow", "nowhere").replace("partitions: 1", "partitions: many"))
    code, out, err = run("validate", "-f", manifests, "--output", "json")
    found = json.loads(out)["errors"]
    assert code == 1
    assert [(e["file"], e["line"], e["field"]) for e in found] == [
        (str(file), 5, "spec.poolRef.name"),
        (str(file), 6, "spec.partitions"),
    ]
    assert err.splitlines() == [
        f"{e['file']}:{e['line']}: {e['field']}: {e['message']}" for e in found
    ]
