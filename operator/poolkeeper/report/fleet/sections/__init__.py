"""The sections of a fleet's report, each from values to what is rendered.

`missing` (what the report should have and does not), `clusters` (when each moves, and what approves
it), `snapshots`, `capacity`, `loads` (hottest, skew), `since` (the difference to an earlier day).
"""
