"""The reasons why no stage may start now, and which moves must wait although others go on.

In come the plan's state, what is declared and the time, out go waits. Read `gates`, with `windows`
(the hours in which stages may start), then `disks` (log directories that keep copies from
arriving) and `stray_logs` (logs that a new replica or partition would overwrite).
"""
