"""How long the command line waits, and how often it looks; seconds."""

TIMEOUT_S = 10.0
"""To reach ZooKeeper or the brokers (`--timeout`)."""

SIZES_DEADLINE_S = 20.0
"""For all brokers together to tell what their disks hold."""

WATCH_EVERY_S = 2.0
"""Between two looks of `status --watch`."""

LINES_EVERY_S = 5.0
"""Between two progress lines where standard output is no terminal."""

FOLLOW_EVERY_S = 2.0
"""Between two looks of `run` at its folder."""

END_S = 15.0
"""For a cluster's loop to finish its pass when `run` ends."""
