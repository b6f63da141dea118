"""A module per command, each the only place of its command that prints, asks or exits.

`run_folder` is what `run -f DIR` does; `fleet_answer` and `executor` are run by Jobs, not by
people.
"""
