"""Files and folders that commands read beside the manifests of a cluster.

In come paths, out go the values in the files, or one error that names each problem. Read
`snapshot_files` (a cluster as a file), `fleet_features` and `fleet_files` (what `poolkeeper fleet`
wrote), `other_manifests` (to compare with) and `key_files` (real keys, for a study).
"""
