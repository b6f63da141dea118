"""Carries out what was decided: every write of a pass starts here.

Read `steps` (the steps of a plan) and `run` (the decisions about a run) with `missing_input` (what
these need to be read). It uses `return_moves` (cancelled moves), `log_dir_requests` (moves between
log directories), `run_end` (also during a migration to KRaft), `keep_throttles` (throttles that
somebody else changed) and `record_absences` (missing brokers). `lost_runs` takes up what a lost run
requested. `server_limits` asks what the ZooKeeper servers take. `stall_recovery` withdraws requests
that nobody works on, `unwritable_configs` keeps configs back that brokers would not start with.
"""
