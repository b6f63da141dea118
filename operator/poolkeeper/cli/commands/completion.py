"""`poolkeeper completion`: a shell completes commands, options and the names of clusters."""

import click
from click.shell_completion import get_completion_class

from poolkeeper.cli.output import printing

SHELLS = ("bash", "zsh", "fish")
VARIABLE = "_POOLKEEPER_COMPLETE"
"""The environment variable by which a shell asks the program; click's name for it."""


@click.command(
    epilog="""\b
    To have it in every shell:
      bash  echo 'source <(poolkeeper completion bash)' >> ~/.bashrc   (bash 4.4 or later)
      zsh   echo 'source <(poolkeeper completion zsh)' >> ~/.zshrc     (after compinit)
      fish  poolkeeper completion fish > ~/.config/fish/completions/poolkeeper.fish
    """
)
@click.argument("shell", type=click.Choice(SHELLS))
def completion(shell: str) -> None:
    """Print the completion script of a shell.

    The script asks `poolkeeper` itself, so that it completes what the installed version knows.
    """
    found = get_completion_class(shell)
    assert found is not None  # click knows these three
    # Click's `source` of bash starts bash to check its version; the text needs no check.
    script = found(click.Command("poolkeeper"), {}, "poolkeeper", VARIABLE)
    printing.emit(script.source_template % script.source_vars())
