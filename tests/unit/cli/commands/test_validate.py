"""`poolkeeper validate` warns of configs that only some releases of Kafka take."""

import pytest

from poolkeeper.cli import main
from unit.cli.test_offline_commands import CLUSTER, POOLS, TOPIC

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
