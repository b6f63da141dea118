"""Tells which documents of the manifests are another's, and are left alone."""

from collections.abc import Sequence

from poolkeeper.cli.output import printing
from poolkeeper.text import count, few


def tell(others: Sequence[str]) -> None:
    """Write to standard error how many there are, and of which kinds; nothing for none."""
    if others:
        printing.note(sentence(others))


def sentence(others: Sequence[str]) -> str:
    """How many documents there are, and of which kinds: 3 other documents left alone: …."""
    kinds = few(sorted(set(others)), grouped=False)
    return f"{count(len(others), 'other document')} left alone: {kinds}"
