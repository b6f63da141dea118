"""The sandbox comes up, says so only when it is true, and leaves nothing behind."""

from poolkeeper.sandbox import Sandbox


def test_a_cluster_is_ready_when_it_is_given(kafka, chroot):
    cluster = kafka()
    assert isinstance(cluster, Sandbox)
    assert kafka() is cluster
