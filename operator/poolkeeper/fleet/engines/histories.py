"""The features of many clusters from samples: what is read, exchanged and made. No Spark in it.

read       a task for each source: a file of samples, the sizes of a snapshot, kept samples
exchange   by cluster and topic, so that all samples of a series meet
figures    of every series, the one definition (`load.time_series`)
exchange   by cluster: the features of a cluster are a hundredth of its samples
gather     a cluster's features, in order, and what is made of them
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from poolkeeper.fleet.engines.results import StepResult
from poolkeeper.fleet.lake.attempts import Destination
from poolkeeper.frozen import frozen

SAMPLES = pa.schema(
    [
        ("cluster", pa.string()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("metric", pa.string()),
        ("at_ms", pa.int64()),
        ("value", pa.float64()),
    ]
)
SAMPLES_DDL = (
    "cluster string, topic string, partition int, metric string, at_ms bigint, value double"
)
FAILURE = "failure of the source"
"""The metric of a row that says, as its topic, why a source of the cluster cannot be read."""


@frozen
class SourceFailure:
    """Why a source cannot be read; `damaged`: the file of the lake that is, or empty."""

    reason: str
    damaged: str = ""

    def to_text(self) -> str:
        """As it travels."""
        return json.dumps([self.reason, self.damaged])

    @classmethod
    def of_text(cls, text: str) -> "SourceFailure":
        """As it was."""
        return cls(*json.loads(text))


@frozen
class HistoryJob:
    """How features are made.

    `sources`: tasks of `read`, which yields rows of `SAMPLES`, or one of `FAILURE`.
    `figures`: from all samples of some topics of several clusters to their features, by cluster.
    `gather`: from a cluster's task, its features and the reasons of failures to its result.
    `slots`: by cluster, the number of its partition; `clusters`: by cluster, the task of `gather`.
    `into`: where the rows are written.
    `metrics`, `begin_ms`, `end_ms`: samples beyond are not exchanged.
    `parts`: how many partitions the samples are exchanged into.
    """

    what: str
    sources: Sequence[Any]
    source_slots: Sequence[int]
    read: Callable[[Any], Iterator[pa.RecordBatch]]
    figures: Callable[[pa.Table], Iterator[tuple[str, pa.Table]]]
    gather: Callable[[Any, Sequence[pa.Table], Sequence[str]], StepResult]
    clusters: Mapping[str, Any]
    slots: Mapping[str, int]
    into: Destination
    metrics: tuple[str, ...]
    begin_ms: int
    end_ms: int
    parts: int
