from collections.abc import Callable
from typing import Any

import pytest

from manifests import resource_pool, topic
from poolkeeper.controller import resource_cache
from poolkeeper.controller.resource_cache import KnownVersions, ResourceCache
from poolkeeper.resources.kinds.custom_resource import ObjectKey

KEY = ObjectKey("ResourcePool", "", "p")


def pool(name: str = "p", uid: str = "u1", generation: int = 1, **more: Any) -> dict[str, Any]:
    found = resource_pool(name, generation)
    metadata = {"uid": uid, "generation": generation, **more.pop("metadata", {})}
    return {**found, "metadata": {**found["metadata"], **metadata}, **more}


def at(revision: int, **more: Any) -> dict[str, Any]:
    """The pool as it was written at a revision of the store."""
    metadata = {"resourceVersion": str(revision), **more.pop("metadata", {})}
    return pool(metadata=metadata, **more)


def had(**generations: int) -> KnownVersions:
    return KnownVersions({uid: (0, generation) for uid, generation in generations.items()})


def known(declared: ResourceCache) -> dict[str, tuple[str, int]]:
    return {each.name: (each.uid, each.generation) for each in declared.contents()[0]}


@pytest.fixture
def declared() -> ResourceCache:
    index = ResourceCache()
    index.put(pool())
    index.put_namespace("shop", {"team": "a"})
    index.changed.clear()
    return index


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda d: d.put(pool(generation=2)), id="another generation"),
        pytest.param(lambda d: d.put(pool(uid="u2")), id="another object of the same name"),
        pytest.param(lambda d: d.put(pool("q", "u3")), id="another object"),
        pytest.param(
            lambda d: d.put(pool(metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"})),
            id="it is being deleted",
        ),
        pytest.param(lambda d: d.put(pool(metadata={"finalizers": ["x"]})), id="other finalizers"),
        pytest.param(lambda d: d.drop(KEY, "u1"), id="it is gone"),
        pytest.param(lambda d: d.put_namespace("shop", {}), id="other labels"),
        pytest.param(lambda d: d.put_namespace("new", {}), id="another namespace"),
        pytest.param(lambda d: d.drop_namespace("shop"), id="a namespace is gone"),
        pytest.param(lambda d: d.compare("ResourcePool", [], had(u1=1)), id="a list lacks it"),
        pytest.param(
            lambda d: d.compare("ResourcePool", [pool(), pool("q", "u3")], had(u1=1)),
            id="a list has more",
        ),
        pytest.param(
            lambda d: d.compare_namespaces({}, d.contents()[1]),
            id="a list lacks a namespace",
        ),
    ],
)
def test_these_wake(declared: ResourceCache, change: Callable[[ResourceCache], object]) -> None:
    change(declared)
    assert declared.changed.is_set()


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda d: d.put(pool()), id="the same again"),
        pytest.param(lambda d: d.put(pool(status={"topics": 1})), id="a status, which is ours"),
        pytest.param(lambda d: d.drop(KEY, "u0"), id="an earlier object of the name is gone"),
        pytest.param(lambda d: d.drop(ObjectKey("Topic", "a", "p"), "u1"), id="another is gone"),
        pytest.param(lambda d: d.put_namespace("shop", {"team": "a"}), id="the same labels"),
        pytest.param(lambda d: d.drop_namespace("other"), id="an unknown namespace is gone"),
        pytest.param(lambda d: d.compare("ResourcePool", [pool()], had(u1=1)), id="an equal list"),
        pytest.param(lambda d: d.compare("Topic", [], had(u1=1)), id="a list of another kind"),
        pytest.param(
            lambda d: d.compare_namespaces({"shop": {"team": "a"}}, {"shop": {"team": "a"}}),
            id="an equal list of namespaces",
        ),
    ],
)
def test_these_do_not(declared: ResourceCache, change: Callable[[ResourceCache], object]) -> None:
    change(declared)
    assert not declared.changed.is_set()


def test_a_status_is_known_all_the_same(declared: ResourceCache) -> None:
    declared.put(pool(status={"topics": 1}))
    assert [each.status for each in declared.contents()[0]] == [{"topics": 1}]


def test_a_list_that_is_older_than_what_was_heard_changes_nothing(declared: ResourceCache) -> None:
    declared.put(pool(generation=3))
    declared.put(pool("new", "u9"))
    assert declared.compare("ResourcePool", [pool(generation=2)], had(u1=1)) == 0
    assert known(declared) == {"p": ("u1", 3), "new": ("u9", 1)}


def test_what_was_deleted_while_it_was_listed_stays_away(declared: ResourceCache) -> None:
    before = declared.known("ResourcePool")
    declared.drop(KEY, "u1")
    declared.changed.clear()
    assert declared.compare("ResourcePool", [pool()], before) == 0
    assert known(declared) == {}
    assert not declared.changed.is_set()
    assert declared.compare("ResourcePool", [pool(uid="u2")], before) == 1, "it was made again"


def test_a_list_that_is_older_than_what_was_known_before_it_is_of_a_restored_store(
    declared: ResourceCache,
) -> None:
    declared.put(pool(generation=3))
    assert declared.compare("ResourcePool", [pool(generation=2)], had(u1=3)) == 1
    assert known(declared) == {"p": ("u1", 2)}


def test_a_list_tells_of_what_was_missed_and_counts_it(declared: ResourceCache) -> None:
    declared.put(pool("gone", "u2"))
    found = declared.compare("ResourcePool", [pool(generation=2), pool("q", "u3")], had(u1=1, u2=1))
    assert found == 3
    assert known(declared) == {"p": ("u1", 2), "q": ("u3", 1)}


def test_an_event_that_is_late_takes_nothing_back(declared: ResourceCache) -> None:
    """A list may be ahead of the watch; and what stands before a server may confuse the order."""
    before = declared.known("ResourcePool")
    assert declared.compare("ResourcePool", [at(30, generation=3)], before) == 1
    declared.changed.clear()
    declared.put(at(20, generation=2))
    declared.put(at(25, generation=3, metadata={"finalizers": ["x"]}))
    assert known(declared) == {"p": ("u1", 3)}
    assert declared.contents()[0][0].finalizers == ()
    assert not declared.changed.is_set()
    declared.put(at(31, generation=3, metadata={"finalizers": ["x"]}))
    assert declared.contents()[0][0].finalizers == ("x",)


@pytest.mark.parametrize("how", ["event", "list"])
def test_an_event_that_is_late_brings_nothing_back(declared: ResourceCache, how: str) -> None:
    if how == "event":
        declared.drop(KEY, "u1")
    else:
        declared.compare("ResourcePool", [], declared.known("ResourcePool"))
    declared.changed.clear()
    declared.put(at(20, generation=2))
    assert known(declared) == {}
    assert not declared.changed.is_set()
    declared.put(pool(uid="u2"))
    assert known(declared) == {"p": ("u2", 1)}, "another one of the name"


def test_what_came_and_went_while_it_was_listed_stays_away(declared: ResourceCache) -> None:
    before = declared.known("ResourcePool")
    declared.put(pool("short", "u5"))
    declared.drop(ObjectKey("ResourcePool", "", "short"), "u5")
    assert declared.compare("ResourcePool", [pool(), pool("short", "u5")], before) == 0
    assert known(declared) == {"p": ("u1", 1)}


def test_a_store_that_was_restored_is_believed(declared: ResourceCache) -> None:
    declared.put(at(30, generation=3))
    declared.put(pool("gone", "u2"))
    declared.drop(ObjectKey("ResourcePool", "", "gone"), "u2")
    declared.forget_revision()
    declared.put(at(20, generation=3, metadata={"finalizers": ["x"]}))
    declared.put(pool("gone", "u2"))
    assert declared.contents()[0][0].finalizers == ("x",)
    assert known(declared) == {"p": ("u1", 3), "gone": ("u2", 1)}


def test_a_list_with_what_was_gone_before_it_is_of_a_restored_store(
    declared: ResourceCache,
) -> None:
    declared.drop(KEY, "u1")
    assert declared.compare("ResourcePool", [pool()], declared.known("ResourcePool")) == 1
    declared.put(pool(generation=2))
    assert known(declared) == {"p": ("u1", 2)}


def test_a_list_tells_of_metadata_that_was_missed_and_of_a_status_without_a_word(
    declared: ResourceCache,
) -> None:
    """Neither changes the generation: a request of a person, a finalizer, labels."""
    declared.put(at(10))
    before = declared.known("ResourcePool")
    assert declared.compare("ResourcePool", [at(11, status={"topics": 1})], before) == 0
    assert declared.contents()[0][0].status == {"topics": 1}
    before = declared.known("ResourcePool")
    listed = [at(12, metadata={"labels": {"site": "x"}})]
    assert declared.compare("ResourcePool", listed, before) == 1
    assert declared.contents()[0][0].labels == {"site": "x"}
    assert declared.compare("ResourcePool", [at(11)], before) == 0, "an older list"


def test_of_a_bounded_number_it_is_known_that_they_are_gone(
    declared: ResourceCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resource_cache, "GONE_MAX", 3)
    for number in range(9):
        declared.drop(KEY, f"g{number}")
    assert declared.known("ResourcePool").gone == {"g6", "g7", "g8"}


def test_a_topic_is_parsed_again_only_if_its_spec_is_another_one() -> None:
    declared, key = ResourceCache(), ObjectKey("Topic", "shop", "t")

    def body(**spec: Any) -> dict[str, Any]:
        return topic("t", "p", "shop", **spec)

    def spec_after(put: dict[str, Any]) -> Any:
        declared.put(put)
        return next(each for each in declared.contents()[0] if each.key == key).spec

    first = spec_after(body())
    assert spec_after({**body(), "status": {"partitions": 3}}) is first
    declared.compare("Topic", [body()], had())
    assert spec_after(body()) is first
    assert spec_after(body(partitions=7)).partitions == 7, "whatever its generation"


def test_a_namespace_whose_deletion_was_missed_goes_with_a_list(declared: ResourceCache) -> None:
    before = declared.contents()[1]
    declared.compare_namespaces({"new": {"team": "b"}}, before)
    assert declared.contents()[1] == {"new": {"team": "b"}}
    assert declared.changed.is_set()


def test_a_namespace_that_came_after_a_list_was_requested_stays(declared: ResourceCache) -> None:
    before = declared.contents()[1]
    declared.put_namespace("new", {})
    declared.drop_namespace("shop")
    declared.put_namespace("shop", {"team": "a"})
    declared.compare_namespaces({}, before)
    assert declared.contents()[1] == {"new": {}, "shop": {"team": "a"}}


def test_fields_of_a_later_release_are_logged_once_a_minute(
    declared: ResourceCache, caplog: pytest.LogCaptureFixture
) -> None:
    for number in range(5):
        later = pool(f"later-{number}")
        later["spec"]["tier"] = "gold"
        declared.put(later)
    (line,) = caplog.messages
    assert line.startswith("ResourcePool later-0 has fields that this release does not know")
    assert "(spec.tier)" in line
