"""The command line: one module per command, each a thin face of a library call.

A command's module is imported when the command is named, so that ``dwindle --help`` answers
without Numba.
"""

import os
from importlib import import_module
from keyword import iskeyword
from typing import Any

import click

import dwindle
from dwindle.cli import project
from dwindle.cli.hints import check_command, check_quadratic, hinted
from dwindle.cli.signals import exit_on_signals

COMMANDS = {
    "train": "Learn a sparse model from files, folders or a pipe.",
    "tune": "Find good settings by cross-validation, then train.",
    "predict": "Print one prediction a line.",
    "evaluate": "Print how good a model is on labelled data.",
    "report": "Write a page about a model, and how good it is on data.",
    "explain": "Show what each feature adds to a prediction.",
    "inspect": "Show what a model kept and what it was made with.",
    "serve": "Answer predictions over HTTP, and learn from what is sent.",
    "merge": "Make one model of several, trained on parts of the data.",
    "export": "Write a model as ONNX, SQL, JSON, JavaScript, C or VW text.",
    "import": "Make a model of what Vowpal Wabbit wrote with --invert_hash.",
    "vw": "Run a command line of Vowpal Wabbit with dwindle.",
    "convert": "Write data as Arrow, svmlight or VW text.",
    "generate": "Write examples of a task whose answer is known.",
    "demo": "The paper's experiment in small, on data that is already here.",
    "config": "Print the defaults that dwindle.toml gives in this folder.",
    "warm-up": "Compile what most runs need, so that the first one need not wait.",
}


class Commands(click.Group):
    """A group that imports a command when it is asked for."""

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Run a command, which a signal ends with the code that shells give it: 130 for Ctrl-C.

        NumPy's BLAS, which no command uses, is told to start no threads: they would spin.
        """
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        exit_on_signals()
        return super().main(*args, **kwargs)

    def list_commands(self, _ctx: click.Context) -> list[str]:
        """List the commands in the order of the table."""
        return list(COMMANDS)

    def get_command(self, _ctx: click.Context, name: str) -> click.Command | None:
        """Import the module of that name and return its ``command``."""
        if name not in COMMANDS:
            return None
        module = f"{name}_" if iskeyword(name) else name.replace("-", "_")
        command = import_module(f"dwindle.cli.{module}").command
        assert isinstance(command, click.Command)
        return command

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:
        """Read the options before the command."""
        with hinted():
            return super().make_context(*args, **kwargs)

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """Find the command in the arguments."""
        check_command(args)
        found = super().resolve_command(ctx, args)
        check_quadratic(args)
        path, command = project.file(), found[1]
        if path is not None and command is not None and command.name != "config":
            defaults = project.defaults_of(path, project.loaded(path), command, ctx)
            typed = {name: project.as_typed(value) for name, value in defaults.items()}
            ctx.default_map = {str(found[0]): typed}
        return found

    def invoke(self, ctx: click.Context) -> Any:
        """Read the command's options and run it."""
        with hinted():
            return super().invoke(ctx)

    def format_commands(self, _ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.command(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(dwindle.__version__, prog_name="dwindle")
def main() -> None:
    """Sparse linear models from streams, by truncated gradient and its successors.

    \b
    Example:
      dwindle train train.vw --gravity 1e-6 --model ads.parquet
      dwindle inspect ads.parquet

    \b
    Completion with the tab key, in ~/.bashrc (or zsh_source, fish_source):
      eval "$(_DWINDLE_COMPLETE=bash_source dwindle)"
    """
