"""Watches resources through kopf. Handlers update the resource cache and wake threads, no more.

kopf watches, reconnects and lists again. It ends as a whole when a watch fails for good: a CRD is
gone, or a permission was revoked. It does not report what was deleted while it could not watch. So
a `ResourceWatch` restarts it, with pauses, and compares the cache with a fresh list after every
start and every few minutes.

kopf discovers the served kinds once, when it starts, and watches no others until it ends. A server
that has just started may not serve all of its definitions yet. So the kinds that kopf found are
checked, and kopf is restarted if one of ours is missing.

kopf also retries silently for minutes where it is not allowed to list or to watch. So a failed
request of kopf triggers a comparison at once, and a short watch of each kind: they find and report
the reason. Until a watch is allowed again, the cache is compared every ten seconds. Once the cache
is filled, an API server that is away makes nobody unready: others could only wait as well.

An API server whose store was restored from a backup counts its revisions from an earlier one. A
watch from a later one is open and tells nothing. So kopf is started anew when the revision is lower
than it was.

Where a server asks kopf to come back later, kopf sleeps as long as that says, an hour for example.
So kopf is started anew when a comparison finds changes that no event told of, and kopf has neither
begun to list nor met a failure since the comparison before.

kopf begins a watch that ended anew without a pause. So where it begins too many requests, it is
started anew with the pauses that it has where it fails: each start lists everything.

kopf ends where it may not watch a namespace, and the rights to one may go with it. So it is started
for those that may be read, and anew when these are others; the rest is looked at every minute. It
counts as not watched: its Topics are unknown, and what they own stays where it is.

When kopf ends, one of its watchers may take its cancellation for a pause, if it is in the middle of
a request. It goes on, without credentials, and kopf waits for it for ever. So what is left some
seconds after kopf began to end is cancelled until it is gone.

Only low-level handlers are used, and no patches. So kopf writes nothing to the API server, neither
annotations nor finalizers. It would still look in each event for what it had handled before, and
copy the object for that: `NothingHandled` and `NoProgress` save it the work.
"""

import asyncio
import logging
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from threading import Event, Thread
from typing import Any, cast

import kopf
from kopf._cogs.structs.references import Insights  # what `kopf.operator` takes as `insights`

from poolkeeper.controller.api_source import ApiSource
from poolkeeper.controller.resource_cache import ResourceCache
from poolkeeper.controller.retry_pauses import RequestRate, RetryPauses, requests_max
from poolkeeper.errors import Forbidden, PoolkeeperError
from poolkeeper.kube.client import discovery, listing
from poolkeeper.kube.client.references import PLURALS
from poolkeeper.model.names import GROUP, VERSION
from poolkeeper.resources.kinds.custom_resource import key_of

KINDS = {kind: PLURALS[kind] for kind in discovery.NEEDED}
COMPARE_EVERY_S = 300.0
COMPARE_SOON_S = 2.0
COMPARE_UNWATCHED_S = 10.0
COMPARE_LOST_S = 60.0
PAUSES_S = (0.5, 1, 2, 4, 8)
RECONNECT_S = 1.0
START_S = 60.0
STOP_S = 10.0
END_S = 7.0
"""kopf gives what it started five seconds to end, and cancels it once after that."""

logger = logging.getLogger(__name__)


Login = Callable[..., kopf.ConnectionInfo | None]
"""kopf's login handler: returns how to reach the API server."""


def log_in(**given: Any) -> kopf.ConnectionInfo | None:
    """Return how our own client reaches the API server; no header takes a token's line feed."""
    found = kopf.login_via_client(**given)
    return found and replace(found, token=found.token and found.token.strip())


@dataclass(slots=True)
class ResourceWatch:
    """Runs kopf in a thread of its own, and restarts it until `stop`.

    `ready` is set once every existing resource is in the cache. Before kopf starts, the API server
    is asked whether it serves our kinds: kopf would silently watch nothing. Without a namespace it
    would watch all.
    """

    cache: ResourceCache
    source: ApiSource
    namespaces: tuple[str, ...] = ()
    login: Login = log_in
    compare_every_s: float = COMPARE_EVERY_S
    beat: Callable[[float], None] = lambda patience_s: None
    ready: Event = field(default_factory=Event)
    _stop: Event = field(default_factory=Event)
    _kopf_stop: Event = field(default_factory=Event)
    _relisted: Event = field(default_factory=Event)
    _request_failed: Event = field(default_factory=Event)
    _watch_failure: str = "starting"
    _compare_failure: str = ""
    _kopf_fault: str = ""
    _revision: int | None = None
    _followed: tuple[str, ...] = ()
    _lost: frozenset[str] = frozenset()
    _threads: list[Thread] = field(default_factory=list)

    @property
    def failure(self) -> str:
        """Why the watch does not work now, in a sentence; empty if it works."""
        return self._watch_failure or self._compare_failure

    @property
    def readable(self) -> tuple[str, ...]:
        """The namespaces whose Topics the cache has, or which are not there; empty means all."""
        return listing.known_namespaces(self.namespaces, self._lost)

    def start(self) -> None:
        """Start to watch."""
        for name, run in (("resource watch", self._run), ("comparing", self._compare)):
            thread = Thread(target=run, name=name, daemon=True)
            self._threads.append(thread)
            thread.start()

    def stop(self) -> None:
        """Stop watching."""
        self._stop.set()
        self._kopf_stop.set()
        self._relisted.set()
        for thread in self._threads:
            thread.join(STOP_S)

    def _run(self) -> None:
        failures = 0
        while not self._stop.is_set():
            self._watch_failure = self._missing_kinds()
            if not self._watch_failure:
                failures = 0 if self._watch_once() else failures + 1
            else:
                failures += 1
            self._stop.wait(PAUSES_S[min(failures, len(PAUSES_S) - 1)])

    def _missing_kinds(self) -> str:
        try:
            return self.source.missing()
        except PoolkeeperError as error:
            return str(error)

    def _watch_once(self) -> bool:
        """Run kopf until it ends; return whether it had begun to watch."""
        ready = Event()
        self._kopf_fault = ""
        try:
            self._followed = self.source.followed().readable or self.namespaces
            asyncio.run(self._run_kopf(ready))
            self._watch_failure = self._kopf_fault or "the watch ended"
        except Exception as error:  # noqa: BLE001 - whatever ends kopf, it is started anew
            self._watch_failure = f"the watch ended: {error}"
            logger.warning("%s", self._watch_failure)
        self._relisted.set()
        return ready.is_set() and not self._kopf_fault

    async def _run_kopf(self, ready: Event) -> None:
        asyncio.get_running_loop().set_exception_handler(_note_left_failure)
        # kopf waits for the flag in a thread, which outlives kopf until the flag is set.
        self._kopf_stop = Event()
        if self._stop.is_set():
            self._kopf_stop.set()
        insights = Insights()
        rate = RequestRate(requests_max(len(self._followed)))
        chosen = settings(self._note_failed_request, partial(self._note_request, rate))
        looking = asyncio.create_task(self._check_kinds(insights))
        ours = asyncio.all_tasks()
        try:
            parts = await kopf.spawn_tasks(
                registry=registry_of(self.cache, self._relisted, self.login, self.namespaces),
                settings=chosen,
                clusterwide=not self.namespaces,
                namespaces=self._followed,
                standalone=True,
                # Unused, but without it kopf asks for the user's name, and a pod's user has none.
                identity=cast(Any, "poolkeeper"),
                stop_flag=self._kopf_stop,
                ready_flag=ready,
                insights=insights,
            )
            ending = asyncio.create_task(_end_rest(parts, ours))
            await kopf.run_tasks(parts, ignored={*ours, ending})
        finally:
            looking.cancel()
            self._kopf_stop.set()
            chosen.execution.executor.shutdown(wait=False)  # its thread logs in, and would stay

    def _note_failed_request(self) -> None:
        self._request_failed.set()
        self._relisted.set()

    def _note_request(self, rate: RequestRate) -> None:
        if rate.note():
            self._end_kopf(
                "watches end as soon as they have begun: look at the API server, and at what stands"
                " before it"
            )

    async def _check_kinds(self, insights: Insights) -> None:
        """Stop kopf if it did not find all our kinds."""
        await insights.ready_resources.wait()
        watched = {resource.plural for resource in insights.watched_resources}
        if unserved := sorted({*KINDS.values()} - watched):
            self._end_kopf(f"the API server did not list {', '.join(unserved)} as served")

    def _end_kopf(self, fault: str) -> None:
        """Have kopf started anew as it does not work, after pauses that grow."""
        if not self._kopf_fault:
            self._kopf_fault = fault
            logger.warning("the watch is restarted: %s", fault)
            self._kopf_stop.set()

    def _compare(self) -> None:
        """Align the cache with fresh lists."""
        said, is_quiet = "", False
        while not self._stop.is_set():
            self.beat(self.compare_every_s + START_S)
            listed = False
            try:
                if self._compare_all() and is_quiet:
                    logger.warning("the watch is restarted: it tells of no changes")
                    self._kopf_stop.set()
                listed = True
                self.ready.set()
                self._try_watches()
                self._compare_failure = said = ""
            except PoolkeeperError as error:
                if str(error) != said:
                    doing = "watched" if listed else "listed"
                    logger.warning("resources cannot be %s: %s", doing, error)
                said = str(error)
                if isinstance(error, Forbidden) or not self.ready.is_set():
                    self._compare_failure = said
                self._stop.wait(COMPARE_UNWATCHED_S if listed else COMPARE_SOON_S)
                is_quiet = False
                continue
            is_quiet = not self._relisted.wait(
                COMPARE_LOST_S if self._lost else self.compare_every_s
            )
            if not is_quiet:
                self._stop.wait(COMPARE_SOON_S)
                self._relisted.clear()

    def _try_watches(self) -> None:
        """Raise what a watch fails with, after a request of kopf failed, until none fails."""
        if not self._request_failed.is_set():
            return
        self._request_failed.clear()
        try:
            self.source.try_watches()
        except PoolkeeperError:
            self._request_failed.set()
            raise

    def _restart_if_restored(self) -> None:
        """Start kopf anew if the store of the API server was restored from a backup.

        A watch goes on from the revision that it has come to, which may be later than that of the
        last list. It would tell nothing until the store has come to that again.
        """
        before = max(self._revision or 0, self.cache.revision)
        self._revision = self.source.revision()
        if self._revision is not None and self._revision < before:
            logger.warning(
                "the API server's data was restored from a backup (revision %d after %d):"
                " everything is read again",
                self._revision,
                before,
            )
            self.cache.forget_revision()
            self._kopf_stop.set()

    def _compare_all(self) -> int:
        """Align the cache with fresh lists; return how many resources it had otherwise."""
        self._restart_if_restored()
        labels = self.cache.contents()[1]
        listed = {each["metadata"]["name"]: _labels(each) for each in self.source.namespaces()}
        self.cache.compare_namespaces(listed, labels)
        followed = self.source.followed()
        if self._followed and (followed.readable or self.namespaces) != self._followed:
            logger.info("the namespaces that can be followed are others")
            self._kopf_stop.set()
        for each in sorted(followed.lost - self._lost):
            logger.warning("Topics of %s may not be listed: what they own stays as it is", each)
        self._lost |= followed.lost  # before their Topics leave the cache
        missed_in_all = 0
        for kind in KINDS:
            known = self.cache.known(kind)
            missed = self.cache.compare(kind, self.source.bodies(kind, followed), known)
            missed_in_all += missed
            if missed and self.ready.is_set():
                logger.info("the watch missed %d changes of %s", missed, KINDS[kind])
        self._lost = followed.lost
        return missed_in_all


def _note_left_failure(_: asyncio.AbstractEventLoop, failure: Mapping[str, Any]) -> None:
    """Note what fails in kopf where nobody waits for it any more: why it ended is told once."""
    logger.debug("in kopf: %s", failure["message"], exc_info=failure.get("exception"))


async def _end_rest(parts: Collection[asyncio.Task[Any]], ours: set[asyncio.Task[Any]]) -> None:
    """Cancel what kopf's parts have started, again and again, once one of them has ended."""
    await asyncio.wait(parts, return_when=asyncio.FIRST_COMPLETED)
    kept = {*ours, *parts, asyncio.current_task()}
    while True:
        await asyncio.sleep(END_S)
        for task in asyncio.all_tasks() - kept:
            task.cancel()


def registry_of(
    cache: ResourceCache, relisted: Event, login: Login, followed: Collection[str] = ()
) -> kopf.OperatorRegistry:
    """Return the handlers that update the cache, and set `relisted` where it is to be compared."""
    registry = kopf.OperatorRegistry()

    async def hear(event: kopf.RawEvent, **_: Any) -> None:
        body = event["object"]
        if event["type"] is None:
            relisted.set()
        if event["type"] == "DELETED":
            cache.drop(key_of(body), body["metadata"]["uid"])
        else:
            cache.put(body)

    async def hear_of_namespace(event: kopf.RawEvent, **_: Any) -> None:
        body = event["object"]
        name = body["metadata"]["name"]
        if event["type"] in ("ADDED", "DELETED") and name in followed:
            relisted.set()
        if event["type"] == "DELETED":
            cache.drop_namespace(name)
        else:
            cache.put_namespace(name, _labels(body))

    kopf.on.login(registry=registry)(login)
    kopf.on.event("", "v1", "namespaces", registry=registry)(hear_of_namespace)
    for plural in KINDS.values():
        kopf.on.event(GROUP, VERSION, plural, registry=registry)(hear)
    return registry


class NothingHandled(kopf.DiffBaseStorage):
    """What kopf has handled of an object, for handlers of changes: there are none."""

    def build(self, **_: Any) -> Any:
        """Return nothing of the object."""
        return {}

    def fetch(self, **_: Any) -> None:
        """Return that nothing is stored."""

    def store(self, **_: Any) -> None:
        """Store nothing."""


class NoProgress(kopf.ProgressStorage):
    """How far kopf's handlers of changes are with an object: there are none."""

    def fetch(self, **_: Any) -> None:
        """Return that nothing is stored."""

    def store(self, **_: Any) -> None:
        """Store nothing."""

    def purge(self, **_: Any) -> None:
        """Remove nothing."""

    def touch(self, **_: Any) -> None:
        """Write nothing."""

    def clear(self, *, essence: Any) -> Any:
        """Return what `NothingHandled` returned."""
        return essence


def settings(failed: Callable[[], None], begun: Callable[[], None]) -> kopf.OperatorSettings:
    """Return kopf's settings: no events, no CRD scanning, long retries.

    `failed` is called after each attempt of a request that failed, `begun` before each request.
    """
    chosen = kopf.OperatorSettings()
    chosen.posting.enabled = False
    chosen.persistence.diffbase_storage = NothingHandled()
    chosen.persistence.progress_storage = NoProgress()
    chosen.scanning.disabled = True
    chosen.networking.error_backoffs = RetryPauses(failed, begun)
    chosen.networking.request_timeout = 30
    chosen.networking.connect_timeout = 5
    chosen.queueing.idle_timeout = 1
    chosen.watching.chunk_size = 500
    chosen.watching.reconnect_backoff = RECONNECT_S
    # kopf would otherwise kill the whole process, and it is only one part of it.
    chosen.process.ultimate_exiting_timeout = None
    return chosen


def _labels(body: Mapping[str, Any]) -> Mapping[str, str]:
    return body["metadata"].get("labels") or {}
