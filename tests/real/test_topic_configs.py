"""Topic configs judged by the class that brokers judge them with: release by release.

Whatever a release refuses, its validator or a broker that loads it, the table refuses. Where the
table refuses more, it is one of the few things that are named here.
"""

from collections.abc import Iterator, Mapping

import pytest

from matrices import soak
from poolkeeper.model.topic_config.validation import check_all
from poolkeeper.model.versions import SUPPORTED, KafkaVersion, releases
from topic_configs import table
from topic_configs.releases import LAST_PATCHES, ask

OFTEN = ("2.0", "2.8", "3.9")
RELEASES = [*OFTEN, *soak(*(release for release in LAST_PATCHES if release not in OFTEN))]
NUMBERS = (
    *(-(2**63) - 1, -(2**63), -(2**31) - 1, -(2**31), -131073, -131072, -5, -3, -2, -1),
    *(0, 1, 2, 3, 4, 5, 9, 10, 13, 14, 15, 17, 18, 22, 23, 4095, 604800000, 604800001),
    *(2**31 - 1, 2**31, 2**63 - 1, 2**63, 10**30),
)
TEXTS = (
    *("", " ", "  7 ", "\t7\n", "\x007", "7\x01", "+7", "-", "+", "07", "-0", "--7", "7 7"),
    *("1_000", "1.0", "1e3", "0x10", "7L", "7l", "7d", "0.5", ".5", "1.", "0.5f", "NaN", "nan"),
    *("1.0000001", "-0.0", "Infinity", "true", "TRUE", " true ", "yes", "1", "false", "FALSE"),
    *("delete", "compact", "delete,compact", " delete , compact ", "delete,", ",", "Delete"),
    *("delete,delete", "delete;compact", "[delete]", "gzip", "GZIP", "zstd", "lz4", "none"),
    *("snappy", "uncompressed", "producer", "CreateTime", "createtime", "LogAppendTime"),
    *("0.8.0", "0.9.0", "0.10.0", "0.10.2-IV0", "0.11.0", "1.0", "2.0", "2.1-IV1", "2.8"),
    *("2.8.2", "3.0", "3.9", "3.9-IV0", "4.0", "latest", "null", "None", "٧", "\u00a07", "7\u2003"),
)
PAIRS: tuple[Mapping[str, str], ...] = (
    {"min.compaction.lag.ms": "10", "max.compaction.lag.ms": "9"},
    {"min.compaction.lag.ms": "10", "max.compaction.lag.ms": "10"},
    {"max.compaction.lag.ms": "1"},
    {"segment.ms": "1", "segment.jitter.ms": "9"},
    *(
        {"remote.storage.enable": remote, local: kept, total: whole}
        for remote in ("true", "false")
        for local, total in (
            ("local.retention.ms", "retention.ms"),
            ("local.retention.bytes", "retention.bytes"),
        )
        for kept in ("-2", "-1", "0", "999", "1000", "1001")
        for whole in ("-1", "0", "1000")
    ),
    *(
        {"remote.storage.enable": "true", "cleanup.policy": policy}
        for policy in ("delete", "compact", "delete,compact", "")
    ),
    {"remote.storage.enable": "true", "local.retention.ms": "604800001"},
    {"remote.storage.enable": "true", "local.retention.bytes": "5"},
    {"local.retention.bytes": "5"},
    {"local.retention.ms": "604800001"},
)


def configs(keys: Mapping[str, object]) -> Iterator[Mapping[str, str]]:
    """Every key with every value, and keys that are judged together."""
    for key in keys:
        for value in (*map(str, NUMBERS), *TEXTS):
            yield {key: value}
    yield from PAIRS
    yield {"no.such.key": "1"}


def is_stricter_on_purpose(config: Mapping[str, str]) -> bool:
    """Whether the table refuses what Kafka's class takes, for a reason."""
    if len(config) > 1:
        # Brokers refuse it from 3.6 on; before, such a topic cannot be uploaded anywhere.
        return config.get("remote.storage.enable") == "true" and "compact" in config.get(
            "cleanup.policy", ""
        )
    ((key, value),) = config.items()
    return (
        # Only moves set these.
        key.endswith(".replication.throttled.replicas")
        # Taken as any text where it is not used; one that is used stops the broker.
        or key == "message.format.version"
        # A cluster on ZooKeeper refuses them elsewhere.
        or key.startswith("remote.log.")
        # Java reads digits of other scripts and what is no number, which nobody means.
        or value in ("٧", "NaN")
    )


@pytest.mark.parametrize("release", RELEASES)
def test_the_table_is_what_the_release_says(release):
    version = KafkaVersion.parse(release)
    known = table.at(release)
    asked = list(configs(known))
    answers = ask(release, asked)
    rows = {name: table.row(key, known.get(name)) for name, key in answers.keys.items()}
    assert rows == known
    laxer, stricter = [], []
    for config, said in zip(asked, answers.verdicts, strict=True):
        refused = bool(check_all(config, version))
        if not refused and (said.validator or said.loading):
            laxer.append((config, said))
        elif refused and not said.validator and not said.loading:
            stricter += [] if is_stricter_on_purpose(config) else [config]
    assert laxer == []
    assert stricter == []


def test_every_supported_release_is_asked():
    assert list(map(str, releases(SUPPORTED))) == list(LAST_PATCHES)
