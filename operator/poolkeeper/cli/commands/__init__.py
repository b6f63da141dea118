"""One module per command; only it prints, asks or exits for that command.

`run_folder` is what `run -f DIR` does; `fleet_steps`, `fleet_waves`, `fleet_reading` and
`fleet_outcomes` are parts of `fleet`; `fleet_answer` and `spark_executor` are run by Jobs, not by
people. `whatif` has a module a study.
"""
