"""The features of clusters with so many samples that no task can hold them. No Spark in it.

read       a task for each source: a file of samples, the sizes of a snapshot, kept samples
exchange   the samples of a cluster in shares, so that all samples of a series meet
figures    of every series of a share, the one definition (`load.time_series`)
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
class Share:
    """Samples of some series of a cluster, or its features; or a failure, as text."""

    cluster: str
    number: int
    content: pa.Table | str


@frozen
class HistoryJob:
    """How features are made.

    `sources`: tasks of `read`, which yields shares of samples.
    `shares`: by cluster, how many there are.
    `figures`: from all samples of a share of a cluster to their features.
    `gather`: from a cluster's task, its features and the reasons of failures to its result.
    `slots`: by cluster, the number of its partition; `clusters`: by cluster, the task of `gather`.
    `into`: where the rows are written.
    """

    what: str
    sources: Sequence[Any]
    source_slots: Sequence[int]
    read: Callable[[Any], Iterator[Share]]
    shares: Mapping[str, int]
    figures: Callable[[str, pa.Table], pa.Table]
    gather: Callable[[Any, Sequence[pa.Table], Sequence[str]], StepResult]
    clusters: Mapping[str, Any]
    slots: Mapping[str, int]
    into: Destination

    @property
    def places(self) -> dict[tuple[str, int], int]:
        """By cluster and share, the number of the partition that it comes to."""
        every = [(name, n) for name, count in sorted(self.shares.items()) for n in range(count)]
        return {share: place for place, share in enumerate(every)}
