"""Long texts in pieces that fit into ConfigMaps, with a digest that tells whether all are there.

A ConfigMap holds a MiB, as base64; a piece is a quarter of that. Plans compress to a tenth.
"""

import gzip
import hashlib
import zlib
from collections.abc import Iterable, Sequence

from poolkeeper.errors import Refused

CHUNK_BYTES = 256 * 1024
TEXT_BYTES_MAX = 512 * 1024**2
LEVEL = 6


def digest_of(text: str) -> str:
    """`sha256:` and the hexadecimal digest of the text as UTF-8."""
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def chunked(text: str, size: int = CHUNK_BYTES) -> tuple[bytes, ...]:
    """The text, compressed, in pieces of `size` bytes; at least one, all but the last full.

    Raises `Refused` for a text that would not be read again, as it is too long.
    """
    body = text.encode()
    if len(body) > TEXT_BYTES_MAX:
        raise Refused(f"the text has {len(body)} bytes (expected at most {TEXT_BYTES_MAX})")
    packed = gzip.compress(body, compresslevel=LEVEL, mtime=0)
    return tuple(packed[begin : begin + size] for begin in range(0, len(packed), size))


def joined(chunks: Sequence[bytes], digest: str) -> str:
    """The text of all pieces in their order; raises `Refused` where it is not of that digest."""
    try:
        text = _unpacked(chunks)
    except (zlib.error, EOFError, UnicodeDecodeError) as broken:
        raise Refused(f"{len(chunks)} pieces do not make a text: {broken}") from broken
    if digest_of(text) != digest:
        raise Refused(f"{len(chunks)} pieces make the text {digest_of(text)} (expected {digest})")
    return text


def _unpacked(chunks: Iterable[bytes]) -> str:
    unpacker = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
    text = bytearray()
    for chunk in chunks:
        text += unpacker.decompress(chunk, TEXT_BYTES_MAX + 1 - len(text))
        if len(text) > TEXT_BYTES_MAX:
            raise EOFError(f"it is over {TEXT_BYTES_MAX} bytes")
    if not unpacker.eof or unpacker.unused_data:
        raise EOFError("it is cut off, or goes on after its end")
    return text.decode()
