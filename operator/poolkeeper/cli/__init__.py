"""The command line: the only place that prints, exits or asks.

`main` runs a command and turns what comes out of it into an exit code. `commands` has a module per
command, imported when it is called, so that `poolkeeper version` does not load a solver; `input` is
what a command is told and what that leads to; `output` are pure functions that return text.
`timing` is how long commands wait.
"""
