"""Figures of a day's clusters by threads: what is interrupted ends with the clusters under way."""

from threading import Barrier, Event
from types import SimpleNamespace
from typing import Any, cast

import pytest

from poolkeeper.fleet.stages import day_clusters
from poolkeeper.fleet.stages.day_clusters import READERS

DAY = cast(
    Any,
    SimpleNamespace(
        lake=SimpleNamespace(root="file:///lake"), storage=None, files=lambda name: (name,)
    ),
)
HERE = cast(Any, SimpleNamespace(is_running=False))


def test_no_other_cluster_is_read_after_an_interrupt(monkeypatch: pytest.MonkeyPatch) -> None:
    over, all_read, read = Event(), Barrier(READERS), []
    monkeypatch.setattr(day_clusters, "Event", lambda: over, raising=False)
    names = [f"c{number:02d}" for number in range(3 * READERS)]

    def figures(day: object, reader: object, name: str) -> str:
        read.append(name)
        if len(read) <= READERS:
            all_read.wait(10)
        if name == names[0]:
            raise KeyboardInterrupt
        over.wait(2)
        return name

    with pytest.raises(KeyboardInterrupt):
        day_clusters.each_cluster(HERE, DAY, names, figures, str)
    assert sorted(read) == names[::3]


def test_figures_are_in_the_order_of_the_names() -> None:
    names = ["b", "c", "a"]
    assert day_clusters.each_cluster(HERE, DAY, names, lambda day, reader, n: n, str) == names
