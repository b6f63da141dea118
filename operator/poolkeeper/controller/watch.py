"""Hearing of resources through kopf: handlers index what they hear, and wake. Nothing else.

kopf watches, reconnects and lists again. It ends as a whole when a watch fails for good (the
definitions are gone, the permission was taken back), and does not tell of what was deleted while it
could not watch. So a `Hearing` runs it again and again, with pauses, and compares the index with a
fresh list of names after every start and every few minutes.

It asks once, when it starts, which kinds there are, and watches no others for as long as it runs.
A server that has just started may not serve all definitions that it has, so what kopf found is
looked at, and it is started anew if one of our kinds is missing.

It also keeps asking, for minutes and without a word, where it is not allowed to watch. So whenever
a request of its failed, a comparison is made at once, to learn and say why. A server that is away
is no reason to be unready once everything is known: nobody could do more than wait for it.

Only low-level handlers are used, and no patches: kopf then writes nothing at all to the API server,
neither annotations nor finalizers.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from threading import Event, Thread
from typing import Any, Protocol, cast

import kopf
from kopf._cogs.structs.references import Insights  # what `kopf.operator` takes as `insights`

from poolkeeper.controller.resource_cache import Declared
from poolkeeper.errors import Forbidden, PoolkeeperError
from poolkeeper.kube.client import discovery
from poolkeeper.kube.client.references import PLURALS
from poolkeeper.model.names import GROUP, VERSION
from poolkeeper.resources.kinds.custom_resource import ObjectKey

KINDS = {kind: PLURALS[kind] for kind in discovery.NEEDED}
COMPARE_EVERY_S = 300.0
COMPARE_SOON_S = 2.0
PAUSES_S = (0.5, 1, 2, 4, 8)
BACKOFFS_S = (0.2, 0.5, 1, 1, 2, 2, 5, 5) + (10,) * 60
START_S = 60.0
STOP_S = 10.0

logger = logging.getLogger(__name__)


Login = Callable[..., kopf.ConnectionInfo | None]
"""kopf's handler that tells how to reach the API server."""


class ApiSource(Protocol):
    """The API server, asked: each raises `PoolkeeperError` where it cannot answer."""

    def missing(self) -> str:
        """Say which of our kinds it does not serve, in a sentence; else an empty text."""

    def bodies(self, kind: str) -> Iterable[Mapping[str, Any]]:
        """List all resources of a kind, as `KINDS` names it, that we work for."""

    def namespaces(self) -> Iterable[Mapping[str, Any]]:
        """List the namespaces."""


@dataclass(slots=True)
class Hearing:
    """kopf in a thread of its own, again and again until `stop`.

    `ready` is set once everything that exists is in the index. Whether our kinds are served is
    asked first: kopf would silently watch nothing.
    """

    declared: Declared
    source: ApiSource
    namespaces: tuple[str, ...] = ()
    login: Login = kopf.login_via_client
    beat: Callable[[float], None] = lambda patience_s: None
    ready: Event = field(default_factory=Event)
    _stop: Event = field(default_factory=Event)
    _round: Event = field(default_factory=Event)
    _relisted: Event = field(default_factory=Event)
    _watching: str = "starting"
    _comparing: str = ""
    _unheard: str = ""
    _threads: list[Thread] = field(default_factory=list)

    @property
    def failure(self) -> str:
        """Why nothing can be heard now, in a sentence; empty if it can."""
        return self._watching or self._comparing

    def start(self) -> None:
        """Begin to hear."""
        for name, run in (("hearing", self._hear), ("comparing", self._compare)):
            thread = Thread(target=run, name=name, daemon=True)
            self._threads.append(thread)
            thread.start()

    def stop(self) -> None:
        """Hear no more."""
        self._stop.set()
        self._round.set()
        self._relisted.set()
        for thread in self._threads:
            thread.join(STOP_S)

    def _hear(self) -> None:
        failures = 0
        while not self._stop.is_set():
            self._watching = self._missing()
            if not self._watching:
                failures = 0 if self._watch_once() else failures + 1
            else:
                failures += 1
            self._stop.wait(PAUSES_S[min(failures, len(PAUSES_S) - 1)])

    def _missing(self) -> str:
        try:
            return self.source.missing()
        except PoolkeeperError as error:
            return str(error)

    def _watch_once(self) -> bool:
        """Let kopf watch until it ends; tell whether it had begun to."""
        ready = Event()
        self._unheard = ""
        try:
            asyncio.run(self._operator(ready))
            self._watching = self._unheard or "the watch ended"
        except Exception as error:  # noqa: BLE001 - whatever ends kopf, it is started anew
            self._watching = f"the watch ended: {error}"
            logger.warning("%s", self._watching)
        self._relisted.set()
        return ready.is_set() and not self._unheard

    async def _operator(self, ready: Event) -> None:
        # kopf waits for the flag in a thread, which outlives kopf until the flag is set.
        self._round = Event()
        if self._stop.is_set():
            self._round.set()
        insights = Insights()
        looking = asyncio.create_task(self._look_at(insights))
        try:
            await kopf.operator(
                registry=registry_of(self.declared, self._relisted, self.login),
                settings=settings(self._relisted.set),
                clusterwide=not self.namespaces,
                namespaces=self.namespaces,
                standalone=True,
                # Unused, but by itself kopf would ask for the user's name: that of a pod has none.
                identity=cast(Any, "poolkeeper"),
                stop_flag=self._round,
                ready_flag=ready,
                insights=insights,
            )
        finally:
            looking.cancel()
            self._round.set()

    async def _look_at(self, insights: Insights) -> None:
        """End this round if kopf did not find all our kinds."""
        await insights.ready_resources.wait()
        watched = {resource.plural for resource in insights.watched_resources}
        if unheard := sorted({*KINDS.values()} - watched):
            self._unheard = f"the API server did not name {', '.join(unheard)} as served"
            logger.warning("the watch is begun anew: %s", self._unheard)
            self._round.set()

    def _compare(self) -> None:
        """Take in what we did not hear of."""
        said = ""
        while not self._stop.is_set():
            self.beat(COMPARE_EVERY_S + START_S)
            try:
                self._compare_all()
                self._comparing = said = ""
                self.ready.set()
            except PoolkeeperError as error:
                if str(error) != said:
                    logger.warning("comparing with what the API server has: %s", error)
                said = str(error)
                if isinstance(error, Forbidden) or not self.ready.is_set():
                    self._comparing = said
                self._stop.wait(COMPARE_SOON_S)
                continue
            if self._relisted.wait(COMPARE_EVERY_S):
                self._stop.wait(COMPARE_SOON_S)
                self._relisted.clear()

    def _compare_all(self) -> None:
        for namespace in self.source.namespaces():
            self.declared.put_namespace(namespace["metadata"]["name"], _labels(namespace))
        for kind in KINDS:
            known = self.declared.uids(kind)
            missed = self.declared.compare(kind, self.source.bodies(kind), known)
            if missed and self.ready.is_set():
                logger.info("%d changes of %s were not heard of", missed, KINDS[kind])


def registry_of(declared: Declared, relisted: Event, login: Login) -> kopf.OperatorRegistry:
    """Return handlers that index what they hear; `relisted` is set when kopf listed again."""
    registry = kopf.OperatorRegistry()

    async def hear(event: kopf.RawEvent, **_: Any) -> None:
        body = event["object"]
        if event["type"] is None:
            relisted.set()
        if event["type"] == "DELETED":
            declared.drop(_key(body), body["metadata"]["uid"])
        else:
            declared.put(body)

    async def hear_of_namespace(event: kopf.RawEvent, **_: Any) -> None:
        body = event["object"]
        if event["type"] == "DELETED":
            declared.drop_namespace(body["metadata"]["name"])
        else:
            declared.put_namespace(body["metadata"]["name"], _labels(body))

    kopf.on.login(registry=registry)(login)
    kopf.on.event("", "v1", "namespaces", registry=registry)(hear_of_namespace)
    for plural in KINDS.values():
        kopf.on.event(GROUP, VERSION, plural, registry=registry)(hear)
    return registry


@dataclass(frozen=True, slots=True)
class RetryPauses:
    """The pauses between attempts of a request; `failed` is called when one has failed.

    kopf takes the next pause before each attempt: all but the first follow upon a failure.
    """

    failed: Callable[[], None]

    def __iter__(self) -> Iterator[float]:
        for attempt, pause_s in enumerate(BACKOFFS_S):
            if attempt:
                self.failed()
            yield pause_s


def settings(failed: Callable[[], None]) -> kopf.OperatorSettings:
    """Return kopf's settings: no events, no scanning of definitions, patience with the server."""
    chosen = kopf.OperatorSettings()
    chosen.posting.enabled = False
    chosen.scanning.disabled = True
    chosen.networking.error_backoffs = RetryPauses(failed)
    chosen.networking.request_timeout = 30
    chosen.networking.connect_timeout = 5
    chosen.queueing.idle_timeout = 1
    chosen.watching.chunk_size = 500
    # It would kill the whole process where kopf is only one part of it.
    chosen.process.ultimate_exiting_timeout = None
    return chosen


def _key(body: Mapping[str, Any]) -> ObjectKey:
    metadata = body["metadata"]
    return ObjectKey(body["kind"], metadata.get("namespace", ""), metadata["name"])


def _labels(body: Mapping[str, Any]) -> Mapping[str, str]:
    return body["metadata"].get("labels") or {}
