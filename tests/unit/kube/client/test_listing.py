"""Which namespaces are followed, as they and the rights to them come and go."""

import pytest

from poolkeeper.errors import Forbidden
from poolkeeper.kube.client import listing

TOPICS = "/apis/poolkeeper.dev/v1alpha1/namespaces/{}/topics"
ENDING = {"deletionTimestamp": "2026-01-01T00:00:00Z"}


class Lists:
    """Namespaces, of which those that are named are being deleted or not allowed to be read."""

    def __init__(self, *names, ending=(), forbidden=()):
        self.found = [
            {"metadata": {"name": name, **(ENDING if name in ending else {})}} for name in names
        ]
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
        pytest.param(Lists("a", "b", "c"), ("a", "b"), id="those-that-are-watched"),
        pytest.param(Lists("b", "c", forbidden="a"), ("b",), id="a-namespace-that-is-gone"),
        pytest.param(
            Lists("a", "b", ending="a", forbidden="a"), ("b",), id="one-that-goes-without-rights"
        ),
        pytest.param(Lists("a", "b", ending="a"), ("a", "b"), id="one-that-goes-with-rights"),
        pytest.param(Lists("a", "b", forbidden="a"), ("a", "b"), id="one-whose-rights-are-lacking"),
        pytest.param(Lists("c"), (), id="none-is-there"),
    ],
)
def test_namespaces_that_are_followed(api, followed):
    assert listing.followed(api, ("a", "b")) == followed
    paths = tuple(TOPICS.format(name) for name in followed)
    assert listing.paths(api, "Topic", ("a", "b")) == paths


def test_without_namespaces_to_watch_all_are():
    assert listing.followed(Lists("a"), ()) == ()
    (path,) = listing.paths(Lists("a"), "Topic", ())
    assert path == "/apis/poolkeeper.dev/v1alpha1/topics"


def test_rights_that_are_lacking_to_a_namespace_that_stays_are_an_error():
    with pytest.raises(Forbidden):
        list(listing.bodies(Lists("a", "b", forbidden="a"), "Topic", ("a", "b")))
