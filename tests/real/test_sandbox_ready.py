"""A sandbox is given when its brokers serve: all are registered, and one controls them."""

from contextlib import closing

import pytest
from kafka import KafkaAdminClient

import txnlog
from authors import broker_by_session
from matrices import soak
from real.support import registrations


def test_a_cluster_given_is_ready(kafka):
    sandbox = kafka()
    found, controller = registrations(sandbox)
    assert {n: broker.get("rack") for n, broker in found.items()} == {1: "a", 2: "b", 3: "c"}
    assert controller in found
    assert sandbox.bootstrap == ",".join(f"127.0.0.1:{found[n]['port']}" for n in (1, 2, 3))
    with closing(KafkaAdminClient(bootstrap_servers=sandbox.bootstrap)) as admin:
        assert {broker["broker_id"] for broker in admin.describe_cluster()["brokers"]} == {1, 2, 3}
    assert kafka() is sandbox


@pytest.mark.parametrize("version", ["2.0.1", *soak("2.8.2")])
def test_older_versions_are_ready_too(kafka, version):
    found, controller = registrations(kafka(version))
    assert set(found) == {1, 2, 3}
    assert controller in found


def test_registrations_name_the_authors(kafka):
    sandbox = kafka()
    found = broker_by_session(txnlog.read_folder(sandbox.transaction_log()))
    assert set(found.values()) == {1, 2, 3}
