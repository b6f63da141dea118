"""Takes what a person asked for off a KafkaCluster, once its answer can be read in the status.

A script that waits sees the request or its answer at any time. The status may be refused, or
written by another release: so it is waited for, and not for long.

What cannot be taken off is tried again for as long as it is seen, and not carried out again: a
`stop` that names no run would end each later one.
"""

import time
from threading import Event, Lock

from poolkeeper.controller.reporting.background_writer import BackgroundWriter
from poolkeeper.kube.client.references import Reference
from poolkeeper.kube.objects import finalizers, request_annotation
from poolkeeper.model.execution.person_requests import RequestAnswer
from poolkeeper.resources.status.kafka_cluster import last_request

TOLD_S = 5.0
POLL_S = 0.2


class AnsweredRequests:
    """Requests that are answered and still shown; thread-safe."""

    def __init__(self, api: finalizers.FinalizerApi, told_s: float = TOLD_S) -> None:
        self._api = api
        self._told_s = told_s
        self._left: dict[Reference, RequestAnswer] = {}
        self._lock = Lock()
        self._writer: BackgroundWriter[RequestAnswer] = BackgroundWriter("requests", self._write)

    def put(self, cluster: Reference, answer: RequestAnswer) -> None:
        """Take the request off that was answered."""
        with self._lock:
            self._left[cluster] = answer
        self._writer.put(cluster, answer)

    def put_again(self, cluster: Reference, text: str) -> bool:
        """Try again to take a request off; false if it was taken off, or another was answered."""
        with self._lock:
            answer = self._left.get(cluster)
        if answer is None or answer.text != text:
            return False
        self._writer.put(cluster, answer)
        return True

    def forget_object(self, cluster: Reference) -> None:
        """Drop what is known of a KafkaCluster that is gone."""
        with self._lock:
            self._left.pop(cluster, None)
        self._writer.forget_object(cluster)

    def forget(self) -> None:
        """Drop everything, because another instance leads now."""
        with self._lock:
            self._left.clear()
        self._writer.forget()

    def close(self) -> None:
        """Stop writing."""
        self._writer.close()

    def _write(self, cluster: Reference, answer: RequestAnswer) -> None:
        if not self._is_left(cluster, answer):
            return  # the same may have been asked for again since
        self._await_status(cluster, answer)
        request_annotation.remove(self._api, cluster, answer.text)
        with self._lock:
            if self._left.get(cluster) is answer:
                del self._left[cluster]

    def _is_left(self, cluster: Reference, answer: RequestAnswer) -> bool:
        with self._lock:
            return self._left.get(cluster) is answer

    def _await_status(self, cluster: Reference, answer: RequestAnswer) -> None:
        told, end_s = last_request(answer), time.monotonic() + self._told_s
        while self._is_left(cluster, answer) and time.monotonic() < end_s:
            found = self._api.get(cluster.path)
            if found is None or (found.get("status") or {}).get("lastRequest") == told:
                return
            Event().wait(POLL_S)
