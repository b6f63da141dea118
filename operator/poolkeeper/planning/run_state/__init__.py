"""The live cluster against a plan: how far each move and step is, and what must wait.

In come a Plan and a Cluster; out go the state of every move (`move_progress`), of cancelled moves
(`returns`), of moves between log directories (`log_dir_copies`) and of every other step
(`step_progress`), what becomes of the request in ZooKeeper (`requests`), the reasons why no stage
may start (`gates`, `disks`, `windows`), the throttles that a run needs (`throttles`), their
adaptive rate (`adaptive_rate`), those that no run accounts for (`left_throttles`), moves of others
that lost their request (`orphans`), what a run requested whose record is lost (`lost_runs`),
leaders that were not in sync when elected (`unclean_elections`), the replicas once a plan is done
(`after_plan`, in columns `load_after`), and how far topics and pools are from what is declared
(`convergence`).
"""
