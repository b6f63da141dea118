"""A store that has too much to do now and then: reads of a few bytes, too, are tried again."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from poolkeeper.errors import Unavailable
from poolkeeper.fleet.lake.attempts import AttemptFiles, Destination, rows_of_attempt
from poolkeeper.fleet.lake.filesystems import Storage, open_file, open_filesystem
from poolkeeper.fleet.storage import parquet, schemas
from s3_faults import Fault, FaultyS3
from s3_server import Bucket

BODY = bytes(range(256)) * 1000


@pytest.fixture
def proxy(s3: Bucket) -> Iterator[FaultyS3]:
    with FaultyS3(s3.server.address) as found:
        yield found


@pytest.fixture
def bucket(s3: Bucket, proxy: FaultyS3) -> Bucket:
    return replace(s3, proxy=proxy.address)


@pytest.mark.parametrize(
    ("begin", "length"),
    [(0, 4), (100_000, 8), (len(BODY) - 8, 4), (len(BODY) - 8, 100), (len(BODY) - 8, None)],
)
def test_a_few_bytes_are_read_where_the_store_has_too_much_to_do(
    begin: int, length: int | None, bucket: Bucket, proxy: FaultyS3
) -> None:
    with bucket.files().open_output_stream(bucket.path("body")) as written:
        written.write(BODY)
    files, base = open_filesystem(bucket.uri(), Storage.of(bucket.hadoop()))
    with open_file(files, f"{base}/body") as opened:
        assert opened.size() == len(BODY)
        opened.seek(begin)
        proxy.fail(Fault.SLOW_DOWN, count=2)
        wanted = BODY[begin:] if length is None else BODY[begin : begin + length]
        assert opened.read(length) == wanted
        assert len(proxy.failed) == 2
        assert opened.tell() == begin + len(wanted)
        opened.seek(5)
        assert opened.read(3) == BODY[5:8]


def test_what_a_store_refuses_is_told_as_that_and_the_place_stays(
    bucket: Bucket, proxy: FaultyS3
) -> None:
    with bucket.files().open_output_stream(bucket.path("body")) as written:
        written.write(BODY)
    files, base = open_filesystem(bucket.uri(), Storage.of(bucket.hadoop()))
    with open_file(files, f"{base}/body") as opened:
        opened.seek(7)
        proxy.fail(Fault.FORBIDDEN)
        with pytest.raises(OSError, match="ACCESS_DENIED"):
            opened.read(4)
        proxy.clear()
        assert opened.read(4) == BODY[7:11]


def test_rows_of_an_attempt_are_read_where_the_store_has_too_much_to_do(
    bucket: Bucket, proxy: FaultyS3
) -> None:
    into = Destination(bucket.uri("lake"), Storage.of(bucket.hadoop()), "run", "2026-03-01")
    rows = parquet.from_rows(schemas.REQUESTS, [("t", n, (n, n + 1)) for n in range(50_000)])
    put = AttemptFiles(into, 0)
    put.add("main", {schemas.REQUESTS.name: rows})
    name = put.close()
    proxy.fail(Fault.SLOW_DOWN, count=2, concerns=lambda each: each.startswith("GET "))
    found = list(rows_of_attempt(into, schemas.REQUESTS.name, name))
    assert sum(batch.num_rows for batch in found) == 50_000
    assert len(proxy.failed) == 2
    assert len(proxy.seen) < 10, "a request for each few bytes"
    proxy.fail(Fault.FORBIDDEN, concerns=lambda each: each.startswith("GET "))
    with pytest.raises(Unavailable, match=r"cannot be read: .*ACCESS_DENIED"):
        list(rows_of_attempt(into, schemas.REQUESTS.name, name))


def test_requests_are_tried_as_often_as_hadoop_s_client_is_told_to(
    bucket: Bucket, proxy: FaultyS3
) -> None:
    with bucket.files().open_output_stream(bucket.path("body")) as written:
        written.write(BODY)
    told = {f"fs.s3a.bucket.{bucket.name}.attempts.maximum": "4"}
    files, base = open_filesystem(bucket.uri(), Storage.of({**bucket.hadoop(), **told}))
    proxy.fail(Fault.SLOW_DOWN, count=3)
    with open_file(files, f"{base}/body") as opened:
        assert opened.size() == len(BODY)
    assert len(proxy.failed) == 3
