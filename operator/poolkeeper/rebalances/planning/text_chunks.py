"""Long texts in pieces that fit into ConfigMaps, with a digest that shows whether all are there.

A ConfigMap holds a MiB, as base64; a piece is a quarter of that. Plans compress to a tenth. Texts
beyond `TEXT_BYTES_MAX` are refused, both when cutting and, before unpacking, when joining.
"""

import gzip
import hashlib
import zlib
from collections.abc import Iterable, Sequence

from poolkeeper import text as words
from poolkeeper.errors import Refused

CHUNK_BYTES = 256 * 1024
TEXT_BYTES_MAX = 512 * 1024**2
LEVEL = 6


def digest_of(text: str) -> str:
    """`sha256:` and the hexadecimal digest of the text as UTF-8."""
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def chunks_of(
    text: str, size: int = CHUNK_BYTES, bytes_max: int = TEXT_BYTES_MAX
) -> tuple[bytes, ...]:
    """The text, compressed, in pieces of `size` bytes; at least one, all but the last full.

    Raises `Refused` for a text that is too long to be read again.
    """
    body = text.encode()
    if len(body) > bytes_max:
        raise Refused(f"the text has {len(body)} bytes (expected at most {bytes_max})")
    packed = gzip.compress(body, compresslevel=LEVEL, mtime=0)
    return tuple(packed[begin : begin + size] for begin in range(0, len(packed), size))


def join_chunks(chunks: Sequence[bytes], digest: str, bytes_max: int = TEXT_BYTES_MAX) -> str:
    """The text of all pieces in their order; raises `Refused` if its digest is another one."""
    try:
        text = _unpacked(chunks, bytes_max)
    except (zlib.error, EOFError, UnicodeDecodeError) as broken:
        raise Refused(f"{len(chunks)} pieces do not make a text: {broken}") from broken
    if digest_of(text) != digest:
        raise Refused(f"{len(chunks)} pieces make the text {digest_of(text)} (expected {digest})")
    return text


def _unpacked(chunks: Iterable[bytes], bytes_max: int) -> str:
    unpacker = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
    text = bytearray()
    for chunk in chunks:
        text += unpacker.decompress(chunk, bytes_max + 1 - len(text))
        if len(text) > bytes_max:
            raise EOFError(f"it is over {words.size(bytes_max)}")
    if not unpacker.eof or unpacker.unused_data:
        raise EOFError("it is cut off, or goes on after its end")
    return text.decode()
