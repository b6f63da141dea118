"""Which of our kinds are served, and which are about to be no more."""

import pytest

from poolkeeper.kube.client import discovery

KINDS = ("kafkaclusters", "resourcepools", "topics", "rebalances")
ALL = {name: ["create", "delete", "get", "list", "watch"] for name in KINDS}
STATUSES = {f"{name}/status": ["get", "patch"] for name in KINDS}
LEFT = ["delete", "get", "list", "watch"]
"""What may be done with a kind whose definition is being deleted."""


class Objects:
    def __init__(self, verbs):
        self.verbs = verbs

    def resources(self, path):
        assert path == "/apis/poolkeeper.dev/v1alpha1"
        return [{"name": name, "verbs": can} for name, can in (self.verbs or {}).items()]


def without(*names):
    return {name: can for name, can in {**ALL, **STATUSES}.items() if name not in names}


@pytest.mark.parametrize(
    ("verbs", "missing", "going"),
    [
        pytest.param(without(), (), (), id="all-are-there"),
        pytest.param(None, discovery.NEEDED, discovery.NEEDED, id="the-group-is-not"),
        pytest.param(
            without("resourcepools", "resourcepools/status"),
            ("ResourcePool",),
            ("ResourcePool",),
            id="one-is-not",
        ),
        pytest.param(
            without("topics/status"),
            ("Topic",),
            (),
            id="a-kind-without-status-is-an-old-definition",
        ),
        pytest.param(
            {**ALL, **STATUSES, "topics": LEFT},
            (),
            ("Topic",),
            id="what-cannot-be-created-any-more-is-going",
        ),
    ],
)
def test_kinds_that_are_missing_or_going(verbs, missing, going):
    api = Objects(verbs)
    assert (discovery.missing_kinds(api), discovery.kinds_being_removed(api)) == (missing, going)
