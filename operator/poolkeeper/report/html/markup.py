"""Escaping of text, and HTML elements that are always balanced.

Names of topics, pools, racks and clusters may hold anything: Kafka did not always check names, and
snapshots are files. Characters that would be invisible or would reverse the text around them become
U+FFFD, and long texts are cut. So a page stays readable and bounded whatever its input.
"""

import html
import unicodedata
from collections.abc import Mapping, Sequence
from itertools import takewhile

_BIDI = {*range(0x202A, 0x202F), *range(0x2066, 0x206A), 0x200E, 0x200F, 0x061C}
_HIDDEN = {"Cc", "Cs", "Cn", "Co", "Zl", "Zp"}
TEXT_MAX = 400


def clean(text: str, length_max: int = TEXT_MAX) -> str:
    """The text on one line, without invisible or reordering characters, cut to `length_max`."""
    cut = text if len(text) <= length_max else f"{text[: length_max - 1]}…"
    if cut.isascii() and cut.isprintable():
        return cut
    return "".join(map(_visible, cut))


def shorten_middle(text: str, length_max: int) -> str:
    """The text as `clean` writes it, cut in its middle: names are told apart by their ends."""
    if len(text) <= length_max:
        return clean(text)
    end = length_max // 2
    return clean(f"{text[: length_max - end - 1]}…{text[len(text) - end :]}")


def shorten_alike(names: Mapping[str, str]) -> Mapping[str, str]:
    """The names without what all begin and end with: …03… of client-03-main and others."""
    texts = list(names.values())
    begin = _alike(texts)
    rest = [each[begin:] for each in texts]
    end = _alike([each[::-1] for each in rest])
    if len(texts) < 2 or begin + end == 0:
        return names
    signs = "…" * bool(begin), "…" * bool(end)
    cores = (each[: len(each) - end] for each in rest)
    return {name: core.join(signs) for name, core in zip(names, cores, strict=True)}


def _alike(texts: Sequence[str]) -> int:
    """How many letters all of these begin with."""
    return sum(1 for _ in takewhile(lambda each: len(set(each)) == 1, zip(*texts, strict=False)))


def _visible(character: str) -> str:
    if character in "\t\n\r":
        return " "
    hidden = ord(character) in _BIDI or unicodedata.category(character) in _HIDDEN
    return "\ufffd" if hidden else character


def text(raw: str) -> str:
    """The text escaped for HTML, as content or in an attribute."""
    return html.escape(clean(raw), quote=True)


def element(tag: str, *content: str, **attributes: str | float) -> str:
    """An element whose content is markup already; attributes are escaped here.

    A trailing underscore is dropped from attribute names, others become hyphens: `class_`,
    `aria_label`.
    """
    said = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{_attribute(value)}"'
        for key, value in attributes.items()
    )
    return f"<{tag}{said}>{''.join(content)}</{tag}>"


def _attribute(value: str | float) -> str:
    return html.escape(value, quote=True) if isinstance(value, str) else coordinate(value)


def coordinate(value: float) -> str:
    """A length in a picture, rounded to a tenth."""
    return f"{round(value, 1) + 0:g}"
