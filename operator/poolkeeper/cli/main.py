"""The `poolkeeper` command and its exit codes.

| what happened | code |
|---|---|
| done, or nothing to do | 0 |
| `plan`: there are changes | 2 |
| done as far as possible, or nothing to do, yet not as declared | 4 |
| the request is wrong or was refused, usage errors included | 1 |
| a system could not be reached | 3 |
| interrupted, by Ctrl-C, SIGTERM or the end of the terminal | 130 |
"""

import importlib
import logging
import re
import sys
from collections.abc import Sequence
from itertools import pairwise

import click
from click.shell_completion import CompletionItem

from poolkeeper.cli import timing
from poolkeeper.cli.input import interrupts
from poolkeeper.cli.output import hints, printing, standard_streams
from poolkeeper.cli.output.standard_streams import ReaderGone, StreamError
from poolkeeper.errors import PoolkeeperError

REFUSED = 1
_NO_NUMBER = re.compile("is not a valid (integer|float)( range)?")
"""Click's own types, of which nobody who types a number has heard."""

COMMANDS = {
    "validate": ("validate:validate", "Check manifests, offline; all problems at once."),
    "plan": ("plans.plan:plan", "Show what would change, why, and how many bytes move."),
    "rehearse": ("plans.rehearse:rehearse", "Show what a plan will do, on a simulated copy."),
    "apply": ("plans.apply:apply", "Carry a plan out, stage by stage, to its end."),
    "run": ("run.run:run", "Keep clusters as declared: in a folder, or on Kubernetes."),
    "status": ("plans.status:status", "Show what is moving, how far it is, what it waits for."),
    "why": (
        "plans.why:why",
        "Show where a topic is, where it should be, what it waits for.",
    ),
    "show": ("plans.show:show", "Show the stored plan of the run under way."),
    "stop": ("plans.stop:stop", "Stop the run under way after its current stage."),
    "rollback": ("plans.stop:rollback", "Cancel what is in flight, and end the run."),
    "approve": (".kubectl.writing:approve_cluster", "On Kubernetes: approve the plan that waits."),
    "ui": ("ui.ui:ui", "Show clusters in a browser, live and read-only."),
    "history": ("plans.history:history", "Show the runs that ended last, and who approved them."),
    "repair": ("repair:repair", "Show what is wrong with nodes in ZooKeeper, and mend it."),
    "snapshot": ("snapshot:snapshot", "Write a cluster's topology to a file."),
    "import": ("import_:import_", "Write manifests for what exists."),
    "new": ("new:new", "Print a new manifest."),
    "simulate": ("simulate:simulate", "Ask Kafka's own algorithms, by lines of JSON."),
    "whatif": ("whatif:whatif", "Study what a change would do to producers and consumers."),
    "fleet": (
        "fleet.fleet:fleet",
        "Many clusters at once: snapshots, load, plans, a budget, a report.",
    ),
    "sandbox": ("sandbox:sandbox", "Throw-away Kafka clusters on this machine."),
    "completion": ("completion:completion", "Print the completion script of a shell."),
    "version": ("version:version", "Show the version."),
}
"""Each command: module, relative to `poolkeeper.cli.commands`, and object; its line of help."""
HIDDEN = {
    "driver": ("fleet.spark_executor:driver", ""),
    "executor": ("fleet.spark_executor:executor", ""),
    "check-release": ("run.check_release:check_release", ""),
}
"""Commands that only pods run; not in the list of commands."""


class CommandGroup(click.Group):
    """A group whose commands may fail in any way, and none is taken for another.

    Click ends without a word for a broken pipe, whichever that is, and calls the end of any data an
    interrupt.
    """

    def invoke(self, ctx: click.Context) -> object:
        """Invoke the command; a fault of it is raised with its cause."""
        try:
            return super().invoke(ctx)
        except StreamError:
            raise
        except (BrokenPipeError, EOFError) as error:
            raise RuntimeError(f"{ctx.command_path} let an error pass: {error!r}") from error


class LazyGroup(CommandGroup):
    """A click group that imports a command's module only when the command is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """List the commands in the order in which people need them."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the command."""
        known = COMMANDS | HIDDEN
        if cmd_name not in known:
            return None
        module, _, name = known[cmd_name][0].partition(":")
        found = getattr(importlib.import_module(f".{module}", "poolkeeper.cli.commands"), name)
        assert isinstance(found, click.Command)
        return found

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; for a misspelt one name those that are like it."""
        name = args[0]
        if not name.startswith("-") and name not in COMMANDS | HIDDEN:
            raise click.exceptions.NoSuchCommand(name, possibilities=COMMANDS, ctx=ctx)
        return super().resolve_command(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete a command's name, without importing any command."""
        if incomplete.startswith("-"):
            return super().shell_complete(ctx, incomplete)
        return [
            CompletionItem(name, help=line)
            for name, (_, line) in COMMANDS.items()
            if name.startswith(incomplete)
        ]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands without importing any of them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="""\b
    A cluster is named in one of two ways:
      -f DIR [--cluster NAME]       by its manifests; NAME where they hold several
      --zookeeper HOST:PORT/CHROOT  directly, with --bootstrap to learn sizes
    CLUSTER, where a command takes it, is that NAME or that connect string.
    --client-config FILE holds credentials and TLS.

    \b
    Exit codes:
      0    done, or nothing to do
      1    the request is wrong or was refused
      2    `plan`: there are changes; `repair`: there is something to mend
      3    a system could not be reached
      4    nothing more to do, yet not as declared: something is left undone
      130  interrupted
    """,
)
def root() -> None:
    """Keep the topology of Kafka clusters that run on ZooKeeper as declared."""


def main(
    arguments: Sequence[str] | None = None,
    command: click.Command = root,
    name: str = "poolkeeper",
) -> int:
    """Run one command and return its exit code; errors that users cause are printed."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    standard_streams.complete()
    # Libraries log errors before they raise them; the command prints each error once.
    if not logging.getLogger().handlers:
        logging.getLogger().addHandler(logging.NullHandler())
    try:
        with interrupts.raise_once(timing.EXIT_S) as check:
            code = _invoke(command, words, name, check)
        sys.stdout.flush()
    except StreamError as error:
        if not isinstance(error, ReaderGone):
            click.echo(f"standard output: cannot be written ({error.strerror})", err=True)
        standard_streams.lose_output()
        return REFUSED
    return code


def _invoke(
    command: click.Command, words: Sequence[str], name: str, check: interrupts.Check
) -> int:
    as_json = _wants_json(words)
    _forget_output()
    try:
        _refuse_empty_values(words)
        code = command.main(args=list(words), prog_name=name, standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        return REFUSED
    except click.ClickException as error:
        printing.report_usage(_usage(error), _option(error), as_json=as_json)
        return REFUSED
    except click.Abort:
        printing.report_interrupt(as_json=as_json)
        return interrupts.INTERRUPTED
    except PoolkeeperError as error:
        if _is_interrupted(check):  # kazoo takes what is raised in it for a lost session
            printing.report_interrupt(as_json=as_json)
            return interrupts.INTERRUPTED
        printing.report(printing.problems_of(error), as_json=as_json)
        return error.exit_code
    finally:
        _forget_output()
    return code if isinstance(code, int) else 0


def _is_interrupted(check: interrupts.Check) -> bool:
    try:
        check()
    except KeyboardInterrupt:
        return True
    return False


def _forget_output() -> None:
    """Forget what was printed, and for which cluster: whoever prints next begins anew."""
    hints.printed_for(hints.AddressOptions())
    printing.begin()


def _refuse_empty_values(words: Sequence[str]) -> None:
    """Raise a usage error for an empty value: a shell's variable that is not set gives one."""
    for before, word in pairwise(["", *words]):
        if word == "--":
            return
        is_joined = word.startswith("--") and word.find("=") == len(word) - 1
        if word and not is_joined:
            continue
        option = word[:-1] if is_joined else before
        expected = "(expected one; is a variable of the shell not set?)"
        if option.startswith("-"):
            raise click.BadOptionUsage(option, f"{option} has an empty value {expected}")
        raise click.UsageError(f"an argument is empty {expected}")


def _usage(error: click.ClickException) -> str:
    message = _NO_NUMBER.sub(_no_number, error.format_message())
    context = error.ctx if isinstance(error, click.UsageError) else None
    if context is None:
        return message
    return f"{context.command_path}: {message} (see {context.command_path} --help)"


def _no_number(found: re.Match[str]) -> str:
    return "is no whole number" if found[1] == "integer" else "is no number"


def _option(error: click.ClickException) -> str:
    """The option or argument that a usage error is about; an empty text where it is none alone."""
    match error:
        case click.NoSuchOption() | click.BadOptionUsage():
            return error.option_name
        case click.BadParameter(param_hint=str(hint)):
            return hint
        case click.BadParameter(param=click.Option() as option):
            return max(option.opts, key=len)
        case click.BadParameter(param=click.Parameter() as argument):
            return argument.human_readable_name.strip("[]")
    return ""


def _wants_json(words: Sequence[str]) -> bool:
    """Whether `--output json` is in a command line that could not be parsed."""
    pairs = pairwise(words)
    return any((a, b) in (("--output", "json"), ("-o", "json")) for a, b in pairs) or any(
        word in ("--output=json", "-ojson") for word in words
    )
