"""One module per command; only it prints, asks or exits for that command.

`run_folder` is what `run -f DIR` does, `fleet_waves` and `fleet_reading` are parts of `fleet`;
`fleet_answer` and `spark_executor` are run by Jobs, not by people. `whatif` has a module a study.
"""
