"""One module per study of `poolkeeper whatif`: `lose`, `keys`, `consumers`."""

import importlib

import click

STUDIES = {
    "lose": "What becomes of partitions, brokers and groups if brokers are lost.",
    "keys": "What more partitions do to the keys of a topic.",
    "consumers": "What members and partitions that come and go do to a consumer group.",
}


class Studies(click.Group):
    """A group that imports a study only when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """List the studies."""
        return list(STUDIES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a study."""
        if cmd_name not in STUDIES:
            return None
        module = importlib.import_module(f"poolkeeper.cli.commands.whatif.{cmd_name}")
        found = getattr(module, cmd_name)
        assert isinstance(found, click.Command)
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of studies without importing any of them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(STUDIES.items()))


@click.group(cls=Studies)
def whatif() -> None:
    """Study what a change would do to those who use the cluster. Changes nothing."""
