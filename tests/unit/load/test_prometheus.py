"""The client against a server that answers as it is told to, badly if need be."""

import json
from urllib.parse import parse_qs

import pytest

from poolkeeper.errors import Refused, Unavailable
from poolkeeper.load.prometheus import PIECE_POINTS, PrometheusServer, Sample, read_matrix, samples
from poolkeeper.load.time_series import HistoryWindow
from unit.kube.http_servers import answers, hangs, says_and_closes, serving, trickles

WINDOW = HistoryWindow(end_ms=3_600_000, length_s=3600, step_s=600)
QUERY = {"bytes": "size"}


def matrix(*series: dict) -> dict:
    return {"status": "success", "data": {"resultType": "matrix", "result": list(series)}}


def series(values: list, **labels: str) -> dict:
    return {"metric": labels, "values": values}


SERIES = series([[600, "1"], [1200.001, "2.5"]], topic="t", partition="3")
EMPTY = answers(200, matrix())


def asked(
    script, deadline_s: float = 5.0, window: HistoryWindow = WINDOW, **more
) -> tuple[list, list]:
    """The samples, and what the server was asked for."""
    with serving(*script) as server:
        found = list(samples(PrometheusServer(server.url + "/", deadline_s, **more), window, QUERY))
        return found, [
            (r.target, {k: v for k, (v,) in parse_qs(r.body.decode()).items()})
            for r in server.requests
        ]


def test_samples_of_a_window() -> None:
    found, requests = asked([answers(200, matrix(SERIES))])
    assert found == [Sample("t", 3, "bytes", 600_000, 1.0), Sample("t", 3, "bytes", 1_200_001, 2.5)]
    said = {"query": "size", "start": "599.999", "end": "3599.999", "step": "600"}
    assert requests == [("/api/v1/query_range", said)]


def test_a_long_window_is_asked_for_in_pieces_that_miss_no_step_and_repeat_none() -> None:
    window = HistoryWindow(end_ms=600_000 * 150, length_s=600 * 150, step_s=600)
    _, requests = asked([EMPTY], window=window)
    times = []
    for _, said in requests:
        begin, end, step = (float(said[key]) for key in ("start", "end", "step"))
        count = int((end - begin) / step + 1.0000001)
        assert count <= PIECE_POINTS
        times += [round((begin + n * step) * 1000) for n in range(count)]
    assert times == [window.begin_ms + 600_000 * (n + 1) - 1 for n in range(150)]


@pytest.mark.parametrize(
    ("one", "expected"),
    [
        pytest.param(series([[1, "NaN"], [2, "+Inf"]], topic="t"), [], id="no-figures"),
        pytest.param(series([[1, "5"]], partition="1"), [], id="no-topic"),
        pytest.param(series([[1, "5"]], topic="t", partition="x"), [], id="no-partition-number"),
        pytest.param(
            series([[1, "5"]], topic="t"), [Sample("t", -1, "m", 1000, 5.0)], id="a-whole-topic"
        ),
    ],
)
def test_series_of_an_answer(one: dict, expected: list) -> None:
    assert list(read_matrix(matrix(one), "m", "u")) == expected


BAD_QUERY = {"status": "error", "error": "parse error:\n unexpected end"}


@pytest.mark.parametrize(
    ("behaviour", "error", "message"),
    [
        pytest.param(answers(400, BAD_QUERY), Refused, "400: parse error: unexpected", id="400"),
        pytest.param(answers(503, "busy"), Unavailable, "503: X", id="503"),
        pytest.param(answers(200, "<html>"), Refused, "the answer is not JSON", id="html"),
        pytest.param(answers(200, {"status": "success"}), Refused, "no range of", id="else"),
        pytest.param(says_and_closes("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{"), Refused,
                     "not JSON", id="cut-off"),
        pytest.param(says_and_closes("nonsense\r\n\r\n"), Unavailable, "nonsense", id="no-http"),
        pytest.param(answers(200, " " * 5000), Refused, "longer than 1000 B", id="too-long"),
    ],
)  # fmt: skip
def test_bad_answers(behaviour, error, message) -> None:
    with pytest.raises(error) as raised:
        asked([behaviour], answer_bytes_max=1000)
    assert message in str(raised.value)
    assert type(raised.value) is error


@pytest.mark.parametrize("behaviour", [hangs, trickles], ids=["hangs", "trickles"])
def test_a_slow_server_is_given_up(behaviour) -> None:
    with pytest.raises(Unavailable):
        asked([behaviour], deadline_s=0.3)


def test_nobody_there() -> None:
    with pytest.raises(Unavailable, match="Connection refused"):
        list(samples(PrometheusServer("http://127.0.0.1:1", 1.0), WINDOW, QUERY))


@pytest.mark.slow
def test_the_deadline_is_for_all_pieces_together() -> None:
    window = HistoryWindow(end_ms=600_000 * 6000, length_s=600 * 6000, step_s=600)
    with pytest.raises(Unavailable, match=r"in 0\.2 s|timed out"):
        asked([answers(200, json.dumps(matrix()) + " " * 10_000_000)], 0.2, window)
