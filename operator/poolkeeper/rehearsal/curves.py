"""Curves of a rehearsal, in bins that double in width when there are too many.

So a rehearsal of a minute and one of a week cost the same memory. Rows are brokers, or directories.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

BINS_MAX = 240
FIRST_WIDTH_S = 0.25
Floats = NDArray[np.float64]


class Curves:
    """Sums (bytes) and highest values of rows over time.

    `sums` has the shape (bins, kinds, rows), `highs` (bins, rows of highs).
    """

    def __init__(self, kinds: int, rows: int, high_rows: int) -> None:
        self.width_s = FIRST_WIDTH_S
        self.bins = 1
        self.sums: Floats = np.zeros((2 * BINS_MAX, kinds, rows))
        self.highs: Floats = np.zeros((2 * BINS_MAX, high_rows))

    def add(self, begin_s: float, end_s: float, amounts: Floats) -> None:
        """Spread amounts, of shape (kinds, rows), evenly over a span of time."""
        first, last = self._bin(begin_s), self._bin(end_s)
        first = self._bin(begin_s)  # the width may have doubled
        if first == last:
            self.sums[first] += amounts
            return
        edges = np.arange(first, last + 2) * self.width_s
        inside = np.minimum(edges[1:], end_s) - np.maximum(edges[:-1], begin_s)
        self.sums[first : last + 1] += (inside / (end_s - begin_s))[:, None, None] * amounts

    def reach(self, at_s: float, values: Floats | Sequence[float]) -> None:
        """Note values at a moment."""
        place = self._bin(at_s)
        np.maximum(self.highs[place], values, out=self.highs[place])

    def _bin(self, at_s: float) -> int:
        while at_s >= self.width_s * 2 * BINS_MAX:
            half = BINS_MAX
            pairs = self.sums.reshape(half, 2, *self.sums.shape[1:])
            self.sums[:half], self.sums[half:] = pairs.sum(axis=1), 0.0
            highs = self.highs.reshape(half, 2, -1)
            self.highs[:half], self.highs[half:] = highs.max(axis=1), 0.0
            self.width_s *= 2
            self.bins = (self.bins + 1) // 2
        place = int(at_s / self.width_s)
        if place >= self.bins:
            # What was high stays as high until somebody says otherwise.
            self.highs[self.bins : place + 1] = self.highs[self.bins - 1]
            self.bins = place + 1
        return place
