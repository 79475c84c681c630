"""The commands. Each prints text for people, or JSON with --json."""

import importlib
import os
import sys
import warnings
from collections.abc import Callable

import tyro
from rich.console import Console

import dicent
from dicent.cli.shared import app, escape
from dicent.errors import DicentError, MissingTorchError

# The commands of each module, which adds them to the app when it is imported.
COMMANDS = {
    "games": ("games", "check", "perft", "show", "bench"),
    "play": ("match",),
    "analyse": ("analyse",),
    "distil": ("distil",),
    "engine": ("engine",),
    "exact": ("solve", "probe", "tablebase", "accuracy"),
    "learn": ("train",),
    "reproduce": ("reproduce",),
    "review": ("review",),
    "terminal_play": ("play",),
    "tournament": ("tournament",),
    "web": ("serve",),
}


def main(arguments: list[str] | None = None) -> int:
    """Run a command and return its exit status."""
    arguments = sys.argv[1:] if arguments is None else arguments
    if arguments == ["--version"]:
        print(f"dicent {dicent.__version__}")
        return 0
    return _guarded(lambda: _run(arguments))


def _run(arguments: list[str]) -> None:
    # A text with a dash and a space, but without an equals sign, is a position and no option.
    arguments = [f" {a}" if a.startswith("-") and " " in a and "=" not in a else a for a in arguments]
    add_commands(arguments)
    # The default of a flag of `train` depends on preset and run, so `train` accepts both forms of each flag.
    is_train = arguments[:1] == ["train"]
    app.cli(args=arguments, prog="dicent", config=() if is_train else (tyro.conf.FlagCreatePairsOff,))


def add_commands(arguments: list[str]) -> None:
    """Import the module of the command that is named, so that it starts soon; else all of them."""
    named = [module for module, commands in COMMANDS.items() if arguments and arguments[0] in commands]
    for module in named or COMMANDS:
        importlib.import_module(f"dicent.cli.{module}")
    if "learn" in (named or COMMANDS):
        from dicent.cli.learn import add_train

        add_train(arguments)


def _guarded(command: Callable[[], object]) -> int:
    console = Console(stderr=True, highlight=False, soft_wrap=True)
    try:
        with warnings.catch_warnings():
            warnings.showwarning = lambda message, *_: console.print(
                f"[bold yellow]warning:[/] {escape(str(message))}"
            )
            command()
    except DicentError as error:
        console.print(f"[bold red]error:[/] {escape(str(error))}")
        return 1
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        console.print(f"[bold red]error:[/] {escape(str(MissingTorchError()))}")
        return 1
    except KeyboardInterrupt:
        console.print("interrupted")
        return 130
    except BrokenPipeError:
        # The reader has closed the pipe; the rest of the buffer goes to the null device.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return 0
