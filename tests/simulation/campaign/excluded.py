"""Combinations of troubles that are not played: faults that are known and not yet mended."""

from simulation.campaign.kinds import Trouble

EXCLUDED = (
    frozenset({Trouble.RUN_NODE_REMOVED}),
    frozenset({Trouble.REQUEST_FOR_NOBODY, Trouble.REQUEST_DELETED}),
    frozenset({Trouble.REQUEST_FOR_NOBODY, Trouble.REQUEST_REPLACED}),
)
