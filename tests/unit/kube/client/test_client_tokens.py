"""The token that the client sends: asked for with each request, and never a crash."""

from threading import Event, Thread

import pytest
from kubernetes.config.config_exception import ConfigException

from poolkeeper.errors import Unavailable
from unit.kube.client.apis import THING, api_of, read
from unit.kube.http_servers import (
    answers,
)


def test_a_token_is_asked_for_each_time():
    with api_of(answers(200, THING)) as (api, server):
        tokens = iter(["bearer one", "bearer two"])

        def renew(configuration):
            configuration.api_key["BearerToken"] = next(tokens)

        api._configuration.api_key["BearerToken"] = "bearer none"
        api._configuration.refresh_api_key_hook = renew
        read(api)
        read(api)
        assert [request.headers["authorization"] for request in server.requests] == [
            "bearer one",
            "bearer two",
        ]


def test_a_token_is_sent_without_the_line_feed_that_ends_its_file():
    with api_of(answers(200, THING)) as (api, server):
        api._configuration.api_key["BearerToken"] = "bearer one\n"
        read(api)
        assert server.requests[0].headers["authorization"] == "bearer one"


@pytest.mark.parametrize("token", ["bearer one\ntwo", "bearer \u20ac"])
def test_a_token_that_no_header_may_have_is_no_crash(token):
    with api_of(answers(200, THING)) as (api, _):
        api._configuration.api_key["BearerToken"] = token
        with pytest.raises(Unavailable, match="no credentials for the API server"):
            read(api)


def test_a_token_that_cannot_be_had_is_no_crash():
    with api_of(answers(200, THING)) as (api, _):

        def renew(configuration):
            raise ConfigException("Token file exists but empty.")

        api._configuration.api_key["BearerToken"] = "bearer none"
        api._configuration.refresh_api_key_hook = renew
        with pytest.raises(Unavailable, match="no credentials for the API server"):
            read(api)


def test_a_plugin_that_hangs_stops_nobody_else_for_longer_than_the_deadline():
    with api_of(answers(200, THING), deadline_s=0.3) as (api, _):
        entered, leave = Event(), Event()

        def renew(configuration):
            entered.set()
            leave.wait(10)

        api._configuration.api_key["BearerToken"] = "bearer none"
        api._configuration.refresh_api_key_hook = renew

        def read_late():
            with pytest.raises(Unavailable):
                read(api)

        hanging = Thread(target=read_late, daemon=True)
        hanging.start()
        assert entered.wait(5)
        with pytest.raises(Unavailable, match="their plugin hangs"):
            read(api)
        leave.set()
        hanging.join(5)
