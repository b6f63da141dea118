"""What a change would do to those who use a cluster: values in, values out; nothing is changed.

In come an observed cluster and a supposed change, out come frozen values that `cli.output` and
`report` write as text, JSON and pages.

For the loss of brokers read `loss_settings` (the settings that decide it), `broker_loss` (leaders,
in-sync replicas and load after it), `controller_times` (how long that takes), `group_coordinators`;
for more partitions `key_growth`, `key_hashes`; for consumers `group_events` (what happens to a
group), `group_rebalances` (what an assignor makes of it), `consumer_study` (all of it, measured).
`planned_leader_load` and `planned_groups` are what a plan does to those who write and read.
"""
