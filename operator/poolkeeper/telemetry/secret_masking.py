"""Masks secrets in everything that is logged, wherever they came from."""

import base64
import json
from collections.abc import Collection, Mapping
from threading import Lock

SECRET_CHARS_MIN = 4
"""Shorter values are not masked: that would make lines unreadable."""
MASK = "***"


class Secrets:
    """The values that must not appear in any log line, by owner."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._by_owner: dict[str, tuple[str, ...]] = {}
        self._forms: tuple[str, ...] = ()

    def add(self, owner: str, values: Collection[str]) -> None:
        """Mask these values of `owner` from now on; its earlier values are no longer masked."""
        with self._lock:
            self._by_owner[owner] = tuple(v for v in values if len(v) >= SECRET_CHARS_MIN)
            if not self._by_owner[owner]:
                del self._by_owner[owner]
            forms = {form for own in self._by_owner.values() for v in own for form in _forms(v)}
            self._forms = tuple(sorted(forms, key=lambda form: (-len(form), form)))

    def mask(self, text: str) -> str:
        """Return the text with every secret replaced, longest first."""
        for form in self._forms:
            text = text.replace(form, MASK)
        return text

    def mask_values(self, value: object) -> object:
        """Return the value as JSON values, with every secret in its texts replaced."""
        if value is None or isinstance(value, bool | int | float):
            return value
        if isinstance(value, Mapping):
            return {self.mask(str(key)): self.mask_values(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self.mask_values(item) for item in value]
        return self.mask(str(value))


def _forms(value: str) -> tuple[str, ...]:
    """Return the forms in which a value may appear: plain, in JSON, base64 as in a Secret."""
    return (value, json.dumps(value)[1:-1], base64.b64encode(value.encode()).decode())
