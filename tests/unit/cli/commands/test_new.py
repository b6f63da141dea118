"""Whole outputs of `new topic`."""

import json


def test_a_new_topic(run):
    assert run("new", "topic", "orders", "--pool", "fast", "--replica-assignment", "1:2,2:1") == (
        0,
        "apiVersion: poolkeeper.dev/v1alpha1\n"
        "kind: Topic\n"
        "metadata:\n"
        "  name: orders\n"
        "  namespace: default\n"
        "spec:\n"
        "  poolRef:\n"
        "    name: fast\n"
        "  placement:\n"
        "    strategy: Manual\n"
        "    assignment:\n"
        "    - [1, 2]\n"
        "    - [2, 1]\n",
        "",
    )


def test_a_new_topic_as_data(run):
    words = ("new", "topic", "orders", "--pool", "fast", "--partitions", 3, "--output", "json")
    code, out, err = run(*words)
    assert (code, err) == (0, "")
    assert json.loads(out) == {
        "apiVersion": "poolkeeper.dev/v1alpha1",
        "kind": "Topic",
        "metadata": {"name": "orders", "namespace": "default"},
        "spec": {"poolRef": {"name": "fast"}, "partitions": 3},
    }


def test_a_wrong_assignment_is_refused(run):
    code, out, err = run("new", "topic", "t", "--pool", "fast", "--replica-assignment", "1:1,x")
    assert (code, out) == (1, "")
    assert err.startswith("--replica-assignment: partition 1: 'x' is no broker id")
