"""One module per command; only it prints, asks or exits for that command.

In come the words of the command line, out go its lines and an exit code. What a command must import
is imported when it is called (`cli/main.py`). Of manifests `validate`, `new` and `import_`; of a
cluster as it is `snapshot` and `repair`; of Kafka's algorithms `simulate`; of none `sandbox`,
`completion` and `version`.

Commands that belong together have a folder: `plans` (a plan, from the first look to the last
stage), `run` (the operator), `ui` (live pages), `fleet` (many clusters at once), `whatif` (a module
a study).
"""
