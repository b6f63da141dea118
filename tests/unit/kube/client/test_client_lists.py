"""Lists of the client come in chunks that a server can give and we can hold."""

import pytest

from poolkeeper.errors import Unavailable
from poolkeeper.kube.client.client import ANSWER_BYTES_MAX
from unit.kube.client.apis import api_of
from unit.kube.http_servers import answers


def item(number):
    return {"metadata": {"name": str(number)}}


def test_lists_come_in_chunks():
    first = {"metadata": {"continue": "a=b&c"}, "items": [item(1), item(2)]}
    last = {"metadata": {}, "items": [item(3)]}
    with api_of(answers(200, first), answers(200, last)) as (api, server):
        assert list(api.list("/things", chunk=2)) == [item(1), item(2), item(3)]
        targets = [request.target for request in server.requests]
        assert targets == ["/things?limit=2", "/things?limit=2&continue=a%3Db%26c"]


@pytest.mark.slow
def test_a_list_whose_objects_are_too_big_at_once_comes_in_smaller_chunks():
    long = answers(200, " " * (ANSWER_BYTES_MAX + 1))
    first = answers(200, {"metadata": {"continue": "x"}, "items": [item(1)]})
    last = answers(200, {"metadata": {}, "items": [item(2)]})
    with api_of(first, long, last) as (api, server):
        assert list(api.list("/things", chunk=10)) == [item(1), item(2)]
        targets = [request.target.partition("?")[2] for request in server.requests]
        token = "&continue=x"
        assert targets == ["limit=10", f"limit=10{token}", f"limit=1{token}"]


@pytest.mark.slow
def test_one_object_that_is_too_big_is_an_error():
    long = answers(200, " " * (ANSWER_BYTES_MAX + 1))
    with api_of(long) as (api, _), pytest.raises(Unavailable, match="is over 64 MiB"):
        list(api.list("/things", chunk=1))


def test_a_list_of_nothing_is_empty():
    with api_of(answers(200, {"metadata": {}, "items": None})) as (api, _):
        assert list(api.list("/things")) == []
