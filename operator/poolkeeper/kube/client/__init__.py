"""One door to the API server: JSON in, JSON out, each call answered or failed by its deadline.

Read `client`, `config` (where the API server is, and who we are there), `references` (paths of
objects), `failures`, then `secrets` and `discovery`. The Kubernetes client library is used here
only.
"""
