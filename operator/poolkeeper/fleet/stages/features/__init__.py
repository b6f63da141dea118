"""The features of clusters: how much each partition holds and takes in, and how that grows.

In come samples, and what a cluster's tables say of it; out go the rows of `features` and
`broker_features`. Read `day_features` (the jobs of a day), `load_features` (a cluster at a time),
`history_sources` (where samples come from), `left_out_samples` (what is said of those that are not
taken), `feature_rows` (what is made of them), and `feature_join` (a cluster with its features, as
plans take it).
"""
