"""Which namespaces are followed, as they and the rights to them come and go."""

import pytest

from poolkeeper.errors import Forbidden
from poolkeeper.kube.client import listing
from poolkeeper.kube.client.listing import FollowedNamespaces

TOPICS = "/apis/poolkeeper.dev/v1alpha1/namespaces/{}/topics"


class Lists:
    """Namespaces, of which those that are named may not be read."""

    def __init__(self, *names, forbidden=()):
        self.found = [{"metadata": {"name": name}} for name in names]
        self.forbidden = {TOPICS.format(name) for name in forbidden}

    def list(self, path, chunk=500):
        if path == listing.NAMESPACES:
            yield from self.found
        elif path in self.forbidden:
            raise Forbidden(path)
        else:
            yield {"path": path}


@pytest.mark.parametrize(
    ("api", "followed"),
    [
        pytest.param(
            Lists("a", "b", "c"), FollowedNamespaces(("a", "b")), id="those-that-are-watched"
        ),
        pytest.param(
            Lists("b", "c", forbidden="a"), FollowedNamespaces(("b",)), id="one-that-is-gone"
        ),
        pytest.param(
            Lists("a", "b", forbidden="a"),
            FollowedNamespaces(("b",), frozenset("a")),
            id="one-without-rights",
        ),
        pytest.param(Lists("c", forbidden="ab"), FollowedNamespaces(()), id="none-is-there"),
    ],
)
def test_namespaces_that_are_followed(api, followed):
    assert listing.followed_namespaces(api, ("a", "b")) == followed
    found = [each["path"] for each in listing.bodies(api, "Topic", followed.readable)]
    assert found == [TOPICS.format(name) for name in followed.readable]


def test_where_nothing_may_be_read_that_is_an_error():
    with pytest.raises(Forbidden):
        listing.followed_namespaces(Lists("a", "c", forbidden="a"), ("a", "b"))


def test_without_namespaces_to_watch_all_are():
    everything = listing.followed_namespaces(Lists("a"), ())
    assert everything == FollowedNamespaces(None)
    (found,) = listing.bodies(Lists("a"), "Topic", everything.readable)
    assert found == {"path": "/apis/poolkeeper.dev/v1alpha1/topics"}


@pytest.mark.parametrize(
    ("watched", "lost", "seen"),
    [
        pytest.param(("a", "b"), "", ("a", "b"), id="nothing-is-lost"),
        pytest.param(("a", "b"), "a", ("b",), id="one-is-lost"),
        pytest.param(("a",), "a", (listing.NO_NAMESPACE,), id="all-are-lost-which-is-not-all"),
        pytest.param((), "", (), id="all-are-watched"),
    ],
)
def test_where_topics_are_seen(watched, lost, seen):
    assert listing.known_namespaces(watched, frozenset(lost)) == seen
