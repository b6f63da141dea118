"""How far a plan is, read from the live cluster alone.

In come a Plan and a Cluster, out goes the state of every move (`move_progress`) and what of it is
copied (`copied_bytes`), the state of every other step (`step_progress`) and of the moves between
log directories (`log_dir_copies`), which of these stand still (`stalled_copies`) or came to nothing
(`held_copies`), and which moves a run ends without (`staying_moves`); then the replicas once a plan
is done (`after_plan`, in columns `load_after`), how far topics and pools are from what is declared
(`convergence`), and whether a run is where its plan predicted it to be (`punctuality`).
"""
