"""A run under way and those that ended, as text, JSON values and live pages.

In come what was read of a cluster and of its journal, out go values and lines. Read `status_values`
and `status_text`, `history_table`, `run_page` (both, live), `live_status` (a terminal's view of the
first), `progress` (a bar or lines, while a command waits) and `what_stays` (said when it fails).
"""
