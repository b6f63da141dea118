"""Names that no object can have are those of none, and no part of a path."""

from collections.abc import Callable

import pytest

from poolkeeper.cli.kubectl.access import UserAccess
from poolkeeper.cli.kubectl.main import root
from poolkeeper.kube.client.client import Api

Run = Callable[..., tuple[int, str, str]]


class Asked:
    """An API server that has nothing, and refuses to be asked for a single object."""

    namespace = "shop"

    def list(self, _: str) -> list[object]:
        """List nothing."""
        return []


@pytest.fixture(autouse=True)
def _asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Api, "of_user", lambda *_, **__: Asked())


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("why", "topic/.."), "there is no Topic .. in namespace shop"),
        (("why", "../../x"), "there is no Topic x in namespace ../.."),
        (("why", "a%2fb"), "there is no Topic a%2fb in namespace shop"),
        (("why", "topic/"), "topic/ names no Topic (expected NAME or NAMESPACE/NAME)"),
        (("plan", "--cluster", ".."), "there is no KafkaCluster .."),
        (("why", "t", "-n", "a/b"), "-n a/b: there is no such namespace"),
        (("status", "-n", ".."), "-n ..: there is no such namespace"),
    ],
)
def test_a_name_that_no_object_has_is_not_asked_for(
    run: Run, words: tuple[str, ...], says: str
) -> None:
    assert run(*words, command=root) == (1, "", f"{says}\n")


def test_the_namespace_that_is_given_counts() -> None:
    assert UserAccess(given_namespace="a").namespace == "a"
