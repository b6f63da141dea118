"""Requests of persons: taken off once the answer can be read, and never carried out twice."""

from collections.abc import Iterator
from typing import Any

import pytest

from conditions import until
from poolkeeper.controller.reporting.answered_requests import AnsweredRequests
from poolkeeper.errors import Unavailable
from poolkeeper.kube.client.references import Reference
from poolkeeper.model.execution.person_requests import AnswerKind, RequestAnswer
from poolkeeper.resources.status.kafka_cluster import last_request

MAIN = Reference("KafkaCluster", "", "main", "u1")
ANSWER = RequestAnswer("stop", AnswerKind.UNREADABLE, 1)
TOLD = {"lastRequest": last_request(ANSWER)}


class Server:
    """The status of one KafkaCluster, and the patches of it; the first of these may fail."""

    def __init__(self) -> None:
        self.status: dict[str, Any] = {}
        self.reads, self.patches, self.fails = 0, 0, 0

    def get(self, path: str) -> dict[str, Any]:
        self.reads += 1
        return {"metadata": {"uid": "u1"}, "status": self.status}

    def patch_json(self, path: str, operations: list[dict[str, Any]]) -> dict[str, Any]:
        if self.fails:
            self.fails -= 1
            raise Unavailable("its webhook is away")
        self.patches += 1
        return {}


@pytest.fixture
def server() -> Server:
    return Server()


@pytest.fixture
def requests(server: Server) -> Iterator[AnsweredRequests]:
    found = AnsweredRequests(server)
    yield found
    found.forget()
    found.close()


def is_over(requests: AnsweredRequests) -> bool:
    return not requests.put_again(MAIN, "stop")


def test_a_request_stays_until_its_answer_can_be_read(
    server: Server, requests: AnsweredRequests
) -> None:
    server.status = {"lastRequest": {**TOLD["lastRequest"], "result": "NoRun"}}
    requests.put(MAIN, ANSWER)
    until(lambda: server.reads > 1, "it is waited for")
    assert server.patches == 0
    server.status = TOLD
    until(lambda: is_over(requests), "it is taken off")
    assert server.patches == 1


@pytest.mark.slow
def test_a_status_that_never_comes_is_not_waited_for_without_an_end(server: Server) -> None:
    requests = AnsweredRequests(server, told_s=0.3)
    requests.put(MAIN, ANSWER)
    until(lambda: is_over(requests), "it is taken off")
    requests.close()


@pytest.mark.slow
def test_what_could_not_be_taken_off_is_tried_again_and_not_once_more_after_that(
    server: Server, requests: AnsweredRequests
) -> None:
    """The same may have been asked for again since: that is another request."""
    server.status, server.fails = TOLD, 2
    requests.put(MAIN, ANSWER)
    until(lambda: not server.fails or not requests.put_again(MAIN, "stop"), "it is tried again")
    until(lambda: is_over(requests), "it is taken off")
    assert not requests.put_again(MAIN, "stop")
    requests.put(MAIN, RequestAnswer("resume", AnswerKind.UNREADABLE, 2))
    assert not requests.put_again(MAIN, "stop"), "another one was answered since"
    assert server.patches == 1


def test_of_what_is_gone_nothing_is_known(server: Server, requests: AnsweredRequests) -> None:
    server.fails = 10
    requests.put(MAIN, ANSWER)
    until(lambda: server.fails < 10 or server.reads, "it is tried")
    requests.forget_object(MAIN)
    assert is_over(requests)
