"""The command line's timeouts and intervals, in seconds."""

TIMEOUT_S = 10.0
"""The timeout for reaching ZooKeeper or the brokers (`--timeout`)."""

SIZES_DEADLINE_S = 20.0
"""The deadline for all brokers together to return the sizes on their disks."""

WATCH_EVERY_S = 2.0
"""The interval of `status --watch`."""

LINES_EVERY_S = 5.0
"""The interval of progress lines if standard output is no terminal."""

FOLLOW_EVERY_S = 2.0
"""The interval at which `run -f` looks at its folder."""

END_S = 15.0
"""The time that the loops of all clusters have to finish their passes when `run` ends."""

EXIT_S = 60.0
"""The time after which a command that is told to end does so, whatever it is at.

More than all the deadlines of what `run` does at its end.
"""

LOG_DIRS_DEADLINE_S = 3.0
"""The deadline for brokers to tell `status` of failed log directories."""
