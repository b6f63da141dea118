"""Combinations of troubles that are not played: faults that are known and not yet mended."""

from simulation.campaign.kinds import Trouble

EXCLUDED: tuple[frozenset[Trouble], ...] = ()
