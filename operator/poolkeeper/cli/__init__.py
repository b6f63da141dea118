"""The command line: the only place that prints, exits or asks.

`main` runs a command and returns its exit code. `commands` has a module per command. It is imported
only when the command is called, so that `poolkeeper version` does not load a solver. `input` parses
options and opens systems. `output` holds pure functions that return text. `submitted` is what
`spark-submit` starts. `timing` holds timeouts and intervals.
"""
