"""What each release of Kafka says of topic configs, asked of its own class.

`releases` brings the classes, asks them and reads the answers; `table` makes of them the table that
the package has: `PYTHONPATH=tests .venv/bin/python -m topic_configs.table` writes it.
"""
