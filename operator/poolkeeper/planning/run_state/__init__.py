"""The live cluster against a plan: how far each move and step is, and what must wait.

In come a Plan and a Cluster, out go states and reasons as values. Read the folders `progress` (how
far the run is), `reassignments` (what ZooKeeper was asked for), `gates` (why no stage may start)
and `throttling` (the throttles of a run), then `returns` (how far cancelled moves are on their way
back), `unclean_elections` (leaders that were not in sync when elected) and `deletions` (what holds
up the end of a topic).
"""
