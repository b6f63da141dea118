import gzip

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from poolkeeper.errors import Refused
from poolkeeper.rebalances.planning import text_chunks

TEXTS = st.text(alphabet=st.characters(exclude_categories=["Cs"]))


@given(TEXTS, st.integers(1, 40))
@example("", 1)
def test_pieces_make_the_text_again(text, size):
    pieces = text_chunks.chunks_of(text, size)
    assert text_chunks.join_chunks(pieces, text_chunks.digest_of(text)) == text
    assert [len(piece) for piece in pieces[:-1]] == [size] * (len(pieces) - 1)
    assert 0 < len(pieces[-1]) <= size
    assert text_chunks.chunks_of(text, size) == pieces


@given(TEXTS, st.integers(1, 40), st.data())
def test_pieces_that_are_not_these_are_refused(text, size, data):
    """One lost, one that is another one, one twice: no text comes out."""
    pieces = list(text_chunks.chunks_of(text, size))
    at = data.draw(st.integers(0, len(pieces) - 1))
    wrong = data.draw(
        st.sampled_from(
            [
                pieces[:at] + pieces[at + 1 :],
                [*pieces[:at], pieces[at][:-1] + bytes([pieces[at][-1] ^ 1]), *pieces[at + 1 :]],
                [*pieces, pieces[at]],
            ]
        )
    )
    try:
        found = text_chunks.join_chunks(wrong, text_chunks.digest_of(text))
    except Refused:
        return
    assert found == text  # a bit of the gzip header that means nothing


@pytest.mark.parametrize(
    ("pieces", "message"),
    [
        pytest.param([], "0 pieces do not make a text", id="no-pieces"),
        pytest.param([b"plain"], "1 pieces do not make a text", id="not-compressed"),
        pytest.param([gzip.compress(b"\xff")], "do not make a text", id="not-utf-8"),
        pytest.param([gzip.compress(b"b")], r"make the text sha256:3e23.* \(expected", id="other"),
    ],
)
def test_what_is_refused(pieces, message):
    with pytest.raises(Refused, match=message):
        text_chunks.join_chunks(pieces, text_chunks.digest_of("a"))


@pytest.mark.slow
def test_long_texts_fit_into_config_maps():
    text = "".join(chr(32 + n * n * 31 % 90) + str(n) for n in range(300_000))
    pieces = text_chunks.chunks_of(text)
    assert len(pieces) > 1
    assert max(map(len, pieces)) == text_chunks.CHUNK_BYTES
    assert text_chunks.join_chunks(pieces, text_chunks.digest_of(text)) == text


def test_texts_that_are_too_long_are_neither_cut_nor_joined():
    text = "ä" * 500
    with pytest.raises(Refused, match=r"^the text has 1000 bytes \(expected at most 999\)$"):
        text_chunks.chunks_of(text, bytes_max=999)
    pieces = text_chunks.chunks_of(text, bytes_max=1000)
    assert text_chunks.join_chunks(pieces, text_chunks.digest_of(text), bytes_max=1000) == text
    with pytest.raises(Refused, match="it is over 999 B"):
        text_chunks.join_chunks(pieces, text_chunks.digest_of(text), bytes_max=999)
