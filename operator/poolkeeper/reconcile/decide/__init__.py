"""Everything that a pass decides, from values to values: nothing here reads or writes a cluster.

In: the declared state, the observation, the run and its document, the time. Out: one decision
(`decisions`), or the steps and moves to write now. Read `run` first: the phases of a run; then
`in_flight` (while the controller works on a request), the folder `cancelling` (what of it is taken
back), `held_moves` (which moves wait or stay while others go on), `unloadable_configs` (moves that
no broker can begin), `early_end` (what a run that ends early waits for) and `throttle_rate` (how
fast it goes). `steps` and `log_dir_moves` decide on everything that is no reassignment,
`external_plan` on a plan of a Rebalance, `approval` on what of a plan a person approved and what
waits for that, `hand_over` on which topics change hands, `cool_down` on what of a plan waits since
balance ran not long ago, `begin` on whether a run begins.
"""
