"""A client of a server that answers by a script."""

from contextlib import contextmanager

from kubernetes.client.configuration import Configuration

from poolkeeper.kube.client.client import Api
from unit.kube.http_servers import serving

THING = {"kind": "Thing", "metadata": {"name": "a", "uid": "u1"}}


@contextmanager
def api_of(*script, deadline_s=5):
    with serving(*script) as server:
        api = Api(Configuration(host=server.url), "ops", deadline_s=deadline_s)
        try:
            yield api, server
        finally:
            api.close()


def read(api):
    return api.get("/things/a")
