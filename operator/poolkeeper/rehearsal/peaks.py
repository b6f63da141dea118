"""The greatest mean over a fixed time, whatever the moments at which somebody looked.

Rates of a simulated cluster hold until something changes, and change as often as the run is looked
at. The rate of a moment is nothing that a network would notice: a throttle lets seconds of nothing
and bursts through. So a peak is a mean over `WINDOW_S`. Time is cut into cells of `CELL_S` from the
start on; a window is any `WINDOW_S / CELL_S` cells that follow each other.
"""

import numpy as np

from poolkeeper.rehearsal.curves import Floats

WINDOW_S, CELL_S = 10, 1
_CELLS = WINDOW_S // CELL_S


class Peaks:
    """The peaks of rates in an array of any shape; `before`: those that held before second 0."""

    def __init__(self, before: Floats) -> None:
        self.highest: Floats = before.copy()
        self._window: Floats = np.repeat(before[None] * CELL_S, _CELLS, axis=0)
        self._cell: Floats = np.zeros_like(before)
        self._number = 0
        self._to_s = 0.0

    def add(self, to_s: float, rates: Floats) -> None:
        """Have rates hold from where the last ones ended; nothing where that is later."""
        alike = 0
        while to_s >= (end_s := (self._number + 1) * CELL_S):
            self._hold(end_s, rates)
            self._close()
            alike += 1
            if alike > _CELLS:  # the first may hold something else
                self._number = max(self._number, int(to_s // CELL_S))
                self._to_s = float(self._number * CELL_S)
        if to_s > self._to_s:
            self._hold(to_s, rates)

    def end(self, rates: Floats) -> None:
        """Have these rates hold for a window more: so much goes on after the end."""
        self.add(self._number * CELL_S + WINDOW_S + CELL_S, rates)

    def _hold(self, to_s: float, rates: Floats) -> None:
        self._cell += rates * (to_s - self._to_s)
        self._to_s = float(to_s)

    def _close(self) -> None:
        self._window[self._number % _CELLS] = self._cell
        self._number += 1
        self._cell = np.zeros_like(self._cell)
        np.maximum(self.highest, self._window.sum(axis=0) / WINDOW_S, out=self.highest)
