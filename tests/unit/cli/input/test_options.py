from pathlib import Path

import click
import pytest

from poolkeeper.cli.input.options import ClusterSelection, address_of

M = Path("m")


def said(where=None, **options):
    given = {
        "folders": (),
        "cluster": None,
        "zookeeper": None,
        "bootstrap": None,
        "client_config": None,
        "timeout_s": 10.0,
        **options,
    }
    return address_of(where, **given)


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        pytest.param(said(folders=(M,)), ClusterSelection((M,)), id="manifests-with-one-cluster"),
        pytest.param(
            said(folders=(M,), cluster="main"), ClusterSelection((M,), "main"), id="by-its-option"
        ),
        pytest.param(said("main", folders=(M,)), ClusterSelection((M,), "main"), id="by-position"),
        pytest.param(
            said("main", folders=(M,), cluster="main"),
            ClusterSelection((M,), "main"),
            id="twice-alike",
        ),
        pytest.param(
            said(zookeeper="h:1/k"),
            ClusterSelection(zookeeper="h:1/k"),
            id="directly-by-its-option",
        ),
        pytest.param(
            said("h:1,i:2/k"), ClusterSelection(zookeeper="h:1,i:2/k"), id="directly-by-position"
        ),
        pytest.param(said("h/k"), ClusterSelection(zookeeper="h/k"), id="a-slash-is-no-name"),
        pytest.param(
            said(zookeeper="h:1", cluster="main", bootstrap="b:1, c:2"),
            ClusterSelection((), "main", "h:1", ("b:1", "c:2")),
            id="directly-with-a-name-and-brokers",
        ),
    ],
)
def test_what_cluster_is_meant(address, expected):
    assert address == expected


@pytest.mark.parametrize(
    ("where", "options", "message"),
    [
        pytest.param(None, {}, "no cluster is given", id="nothing"),
        pytest.param("main", {}, "nothing tells where cluster main is", id="a-name-alone"),
        pytest.param(
            None, {"folders": (M,), "zookeeper": "h:1"}, "exclude each other", id="both-ways"
        ),
        pytest.param("h:1", {"folders": (M,)}, "exclude each other", id="both-ways-by-position"),
        pytest.param("h:1", {"zookeeper": "i:2"}, "both give a connect string", id="two-connects"),
        pytest.param("a", {"folders": (M,), "cluster": "b"}, "CLUSTER is a, but", id="two-names"),
        pytest.param(
            None, {"folders": (M,), "bootstrap": "b:1"}, "goes with --zookeeper", id="bootstrap"
        ),
    ],
)
def test_what_contradicts_itself(where, options, message):
    with pytest.raises(click.UsageError) as caught:
        said(where, **options)
    assert message in caught.value.message
