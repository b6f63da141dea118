"""The only client of the API server: JSON in, JSON out, each call done or failed by its deadline.

Read `client`, `config` (the server's address and our identity), `key_files` (keys that no file
holds), `references` (paths of objects), `failures`, then `listing` (of resources and namespaces),
`secrets`, `discovery` (which of our resource definitions are served, and which are being removed)
and `policies` (whether it is made sure who approves). The Kubernetes client library is used here
only.
"""
