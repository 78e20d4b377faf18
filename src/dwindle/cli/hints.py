"""What options of Vowpal Wabbit and scikit-learn are called here, for those who type them."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

import click

_STRENGTH = "the strength of L1 is `dwindle train --gravity G`"
_CACHE = "not needed: with --passes what was parsed is kept by itself"
_MODEL = "`dwindle train --model FILE` names the model file"
_GO_ON = "`dwindle train --start-from MODEL` learns on, `dwindle predict MODEL DATA` uses a model"
_USE = "`dwindle predict MODEL DATA` and `dwindle evaluate MODEL DATA` use a model without learning"
_DATA = "files are named without an option: `dwindle train FILE`"
_PREDICTIONS = "`dwindle predict MODEL DATA --output FILE` writes predictions"
_BITS = (
    "not needed: every feature has a weight of its own, "
    "and `dwindle train --max-live N` or `--memory SIZE` bounds them"
)
_CROSS = "`dwindle train --interactions 'A*B'` multiplies namespaces or columns"
_NAMES = (
    "`dwindle inspect MODEL` shows weights by name, "
    "`dwindle export MODEL FILE --to vw-names` writes them"
)
_EXPLAIN = "`dwindle explain MODEL DATA` shows what each feature adds to a prediction"
_RATE = "`dwindle train --learning-rate`"
_PASSES = "`dwindle train --passes N`"
_INTERCEPT = "`dwindle train --no-intercept`"
_LABEL = "`dwindle train --label-column NAME` names the column of the label"
_DELIMITER = "`dwindle train --delimiter C` says what stands between cells"
_HOLDOUT = "`dwindle train --holdout N` measures on every N-th example, `--holdout FILE` on a file"

# By the name with dashes: who types an underscore is meant too.
HINTS = {
    # Vowpal Wabbit
    "--l1": _STRENGTH,
    **dict.fromkeys(("-d", "--data"), _DATA),
    **dict.fromkeys(("-f", "--final-regressor"), _MODEL),
    **dict.fromkeys(("-i", "--initial-regressor"), _GO_ON),
    **dict.fromkeys(("-t", "--testonly"), _USE),
    **dict.fromkeys(("-p", "--predictions", "-r", "--raw-predictions"), _PREDICTIONS),
    **dict.fromkeys(("-b", "--bit-precision"), _BITS),
    **dict.fromkeys(("-c", "--cache", "--cache-file", "-k", "--kill-cache"), _CACHE),
    **dict.fromkeys(("-a", "--audit"), _EXPLAIN),
    **dict.fromkeys(("--quadratic", "--cubic"), _CROSS),
    **dict.fromkeys(("--readable-model", "--invert-hash"), _NAMES),
    "--save-resume": "`dwindle train --save-state`",
    "--daemon": "`dwindle serve MODEL` answers over HTTP",
    **dict.fromkeys(
        ("--oaa", "--csoaa", "--ect"), "`dwindle train --loss logistic` learns several classes"
    ),
    "--loss-function": "`dwindle train --loss`",
    "--ignore": "`dwindle train --drop NAME` leaves out a column or namespace",
    "--link": "`dwindle predict --proba` prints probabilities",
    "--noconstant": _INTERCEPT,
    "--ftrl": "`dwindle train --update ftrl`",
    "--sgd": "`dwindle train --update plain`",
    "--quantile-tau": "`dwindle train --loss quantile --tau T`",
    "--decay-learning-rate": "`dwindle train --pass-decay`",
    "--holdout-period": "`dwindle train --holdout N`",
    "--early-terminate": "`dwindle train --patience N`",
    # scikit-learn
    **dict.fromkeys(("--alpha", "--C", "--penalty"), _STRENGTH),
    **dict.fromkeys(("--max-iter", "--n-epochs", "--epochs"), _PASSES),
    **dict.fromkeys(("--eta0", "--eta", "--lr", "--step-size"), _RATE),
    "--l1-ratio": "`dwindle train --gravity G --l2 L` are the two strengths",
    "--average": "`dwindle train --update averaged`",
    "--tol": "`dwindle train --holdout N --patience N`",
    "--random-state": "`dwindle train --seed N` with --shuffle; else nothing is left to chance",
    "--n-jobs": "`dwindle tune --jobs N`",
    "--verbose": "not needed: progress is shown unless --quiet",
    "--fit-intercept": _INTERCEPT,
    "--n-iter-no-change": "`dwindle train --patience N`",
    "--early-stopping": "`dwindle train --holdout N --patience N`",
    **dict.fromkeys(("--test-size", "--validation-fraction"), _HOLDOUT),
    # pandas and others
    **dict.fromkeys(("--target", "--label-col", "--target-column"), _LABEL),
    **dict.fromkeys(("--sep", "--separator"), _DELIMITER),
}

# Options that some commands have, for those who give them to another one.
ELSEWHERE = {
    "--label": _LABEL,
    "--model": "name the model first: `dwindle predict MODEL DATA`",
    "--shuffle": "only `dwindle train --shuffle N` has it",
}

LOSSES = {  # of scikit-learn, by what they are here
    "log_loss": "logistic",
    "log": "logistic",
    "squared_error": "squared",
    "squared_loss": "squared",
    "absolute_error": "quantile",
    "modified_huber": "logistic",
}

COMMANDS = {  # of other programs
    **dict.fromkeys(("fit", "learn"), "`dwindle train DATA --model FILE`"),
    **dict.fromkeys(("test", "score", "eval"), "`dwindle evaluate MODEL DATA`"),
}


@contextmanager
def hinted() -> Iterator[None]:
    """Answer an unknown option that other programs have with its name here."""
    try:
        yield
    except click.NoSuchOption as error:
        told = (HINTS | ELSEWHERE).get(error.option_name.replace("_", "-"))
        told = told or _of_vw(error.option_name)
        if told is None:
            raise
        message = f"No such option {error.option_name!r}: {told}."
        raise click.NoSuchOption(error.option_name, message, ctx=error.ctx) from None
    except click.BadParameter as error:
        for name, here in LOSSES.items():
            if error.message.startswith(f"'{name}'"):
                message = f"{error.message} Here it is --loss {here}."
                raise click.BadParameter(message, error.ctx, error.param) from None
        raise


def _of_vw(name: str) -> str | None:
    """Answer any other flag of Vowpal Wabbit by the table of ``dwindle vw``."""
    from dwindle.cli.vw_flags import FLAGS

    flag = FLAGS.get("--" + name.lstrip("-").replace("-", "_"))
    if flag is None or not name.startswith("--"):
        return None
    return f"of Vowpal Wabbit's flags, which `dwindle vw` takes, it is {flag.becomes}"


def check_command(args: Sequence[str]) -> None:
    """Answer a command that other programs have with its name here."""
    for name in args[:1]:
        if name in COMMANDS:
            raise click.UsageError(f"No such command {name!r}: {COMMANDS[name]}.")


def check_quadratic(args: Sequence[str]) -> None:
    """Refuse VW's ``-q ab``, which would be --quiet and a file ab."""
    if args[:1] == ["vw"]:
        return
    for flag, word in pairwise(args):
        if flag == "-q" and len(word) in {2, 3} and word.isalpha() and not Path(word).exists():
            crossed = "*".join(word)
            raise click.UsageError(
                f"-q is --quiet, and there is no file {word!r}. "
                f"If you mean Vowpal Wabbit's -q {word}: --interactions '{crossed}'"
            )
