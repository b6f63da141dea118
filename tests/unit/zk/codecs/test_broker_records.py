"""The records of brokers are read as they were written, and those of earlier releases too."""

import json

from hypothesis import given
from hypothesis import strategies as st

from poolkeeper.model.execution.records import BrokerRecord, Looks
from poolkeeper.zk.codecs.our_nodes import BrokersBody, brokers_body, decode

SECONDS = st.integers(0, 10**11)
LOOKS = st.builds(
    Looks, SECONDS, SECONDS, gaps=st.integers(0, 9), in_outage=st.booleans(), lost=st.booleans()
)
RECORDS = st.builds(
    BrokerRecord,
    st.none() | st.sampled_from("abc"),
    st.none() | SECONDS,
    st.dictionaries(st.sampled_from(["/d0", "/d1"]), SECONDS),
    st.none() | LOOKS,
    st.booleans(),
)


@given(st.dictionaries(st.integers(0, 2**31 - 1), RECORDS, max_size=3))
def test_records_are_read_as_they_were_written(records: dict[int, BrokerRecord]) -> None:
    data = json.dumps(brokers_body(records)).encode()
    assert decode("/b", data, BrokersBody).records == records


def test_a_record_of_an_earlier_release_has_no_looks() -> None:
    body = {"version": 1, "brokers": {"1": {"rack": "a", "missing_since_s": 5}}}
    found = decode("/b", json.dumps(body).encode(), BrokersBody).records
    assert found == {1: BrokerRecord("a", 5)}
