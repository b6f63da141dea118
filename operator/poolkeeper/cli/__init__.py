"""The command line: a module per command, and the only place that prints, exits or asks.

`main` runs a command and turns what comes out of it into an exit code; `options` and `targets` say
which cluster is meant; `cluster_reading` opens it; `printing` writes. A command's module is
imported when the command is called, so that `poolkeeper version` does not load a solver. What a
command shows is made by pure functions (`plan_text`, `statuses`, `progress`) that return text.
"""
