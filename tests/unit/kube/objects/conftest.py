"""Writers of statuses that end with the test."""

import pytest

from poolkeeper.kube.objects.status_writer import (
    StatusWriter,
)
from unit.kube.objects.status_ground import (
    NOW,
)


@pytest.fixture
def writing():
    """Makes writers that end with the test."""
    writers = []

    def make(objects, clock=None, workers=2, **extra):
        extra |= {} if clock is None else {"clock": clock}
        writers.append(StatusWriter(objects, workers, pause_s=0.05, now=lambda: NOW, **extra))
        return writers[-1]

    yield make
    for writer in writers:
        writer.close()
