"""Vowpal Wabbit's flags, and what each becomes: for ``dwindle vw``, its notes and its page."""

from collections.abc import Sequence
from typing import NamedTuple

import click


class Flag(NamedTuple):
    """A flag of Vowpal Wabbit."""

    names: tuple[str, ...]  # the first is what it is called here
    value: str  # what it takes, "" if nothing
    becomes: str  # or what to use instead

    @property
    def name(self) -> str:
        """Its longest name, without dashes."""
        return max(self.names, key=len).lstrip("-")


DONE = (  # `vw_translation` does these
    Flag(("-d", "--data"), "FILE", "the data, named without an option: `dwindle train FILE`"),
    Flag(("-f", "--final_regressor"), "FILE", "`--model FILE`, a Parquet file"),
    Flag(("-i", "--initial_regressor"), "FILE", "`--start-from FILE`, or with `-t` the model"),
    Flag(("-t", "--testonly"), "", "`dwindle predict` and `dwindle evaluate`: nothing is learned"),
    Flag(("-p", "--predictions"), "FILE", "`dwindle predict --output FILE`, after the training"),
    Flag(("-r", "--raw_predictions"), "FILE", "`dwindle predict --output FILE`: scores"),
    Flag(("--link",), "identity|logistic", "`dwindle predict --proba` if logistic"),
    Flag(("--binary",), "", "`dwindle predict --label`: -1 or 1"),
    Flag(("--probabilities",), "", "`dwindle predict --proba`, a number for each class"),
    Flag(
        ("-q", "--quadratic"), "AB", "`--interactions 'a*b'`, for the namespaces of these letters"
    ),
    Flag(("--cubic",), "ABC", "`--interactions 'a*b*c'`, likewise"),
    Flag(("--interactions",), "AB|ABC", "`--interactions`, likewise"),
    Flag(("--ignore",), "A", "`--drop`, for the namespaces of this letter"),
    Flag(("--l1",), "L", "`--gravity L`; without it, `--dense`"),
    Flag(("--l2",), "L", "`--l2 L`"),
    Flag(("-l", "--learning_rate"), "R", "`--learning-rate R`"),
    Flag(
        ("--power_t",), "P", "`--power-t P` with `--sgd`; else 0.5, which adaptive does by itself"
    ),
    Flag(("--initial_t",), "T", "`--initial-t T` with `--sgd`, at least 1; else not needed"),
    Flag(("--decay_learning_rate",), "D", "`--pass-decay D`"),
    Flag(
        ("--loss_function",),
        "NAME",
        "`--loss`: squared (also classic), logistic, hinge, quantile or poisson",
    ),
    Flag(("--quantile_tau",), "T", "`--tau T`"),
    Flag(("--oaa",), "K", "`--loss logistic --classes 1,...,K`"),
    Flag(("--passes",), "N", "`--passes N`; beyond 1 with `--holdout 10`, as VW holds out"),
    Flag(("--holdout_off",), "", "no `--holdout`"),
    Flag(("--holdout_period",), "N", "`--holdout N`"),
    Flag(("--early_terminate",), "N", "`--patience N`"),
    Flag(("--noconstant",), "", "`--no-intercept`"),
    Flag(("--ftrl",), "", "`--update ftrl`"),
    Flag(("--ftrl_alpha",), "A", "`--learning-rate A`"),
    Flag(("--ftrl_beta",), "B", "`--beta B`"),
    Flag(("--sgd",), "", "`--update plain`, with the decay 1/t^0.5 of VW"),
    Flag(("--save_resume",), "", "`--save-state`"),
    Flag(("--readable_model",), "FILE", "`dwindle export --to vw-readable`"),
    Flag(("--invert_hash",), "FILE", "`dwindle export --to vw-names`"),
    Flag(("--json",), "", "`--format jsonl --label-column _label`"),
    Flag(("--quiet",), "", "`--quiet`"),
)

_CACHE = "not needed: what was parsed is kept between passes"
_BITS = "not needed: every feature has a weight of its own; `--max-live N` bounds them"
_USUAL = "not needed: it is what the update does"
UNNEEDED = (  # taken, and left out
    Flag(("-b", "--bit_precision"), "BITS", _BITS),
    Flag(("-c", "--cache"), "", _CACHE),
    Flag(("--cache_file",), "FILE", f"{_CACHE}; name the data itself"),
    Flag(("-k", "--kill_cache"), "", _CACHE),
    Flag(("--compressed",), "", "not needed: compression is told by the first bytes"),
    Flag(("-P", "--progress"), "N", "not needed: a row at 1, 2, 4, 8, ... examples"),
    Flag(("--adaptive",), "", _USUAL),
    Flag(("--normalized",), "", _USUAL),
    Flag(("--invariant",), "", _USUAL),
    Flag(("--hash",), "strings|all", "not needed: keys have 64 bits"),
    Flag(("--random_seed",), "N", "not needed: nothing is left to chance"),
    Flag(("--no_stdin",), "", "not needed: `-` names standard input"),
    Flag(("--sparse_weights",), "", "not needed: weights are always sparse"),
    Flag(("--predict_only_model",), "", "not needed: a model has no state unless `--save-state`"),
    Flag(("--preserve_performance_counters",), "", "not needed: a model counts its examples"),
)

_ONE = "only linear models are learned here"
_BANDIT = "contextual bandits are not learned here; learn the reward with `dwindle train`"
_CLASSES = "`--oaa K` here: each class against the rest"
REFUSED = (  # named, with what to use instead
    Flag(("-a", "--audit"), "", "`dwindle explain MODEL DATA` shows what each feature adds"),
    Flag(("--dsjson",), "", _BANDIT),
    Flag(("--bfgs",), "", "several `--passes` come as close to the optimum"),
    Flag(("--coin",), "", "`dwindle train` without a learning rate"),
    Flag(("--pistol",), "", "`--ftrl`"),
    Flag(("--ngram",), "N", "`dwindle train --text COLUMN --ngrams N` on a table"),
    Flag(("--skips",), "N", "`dwindle train --text COLUMN --ngrams N` on a table"),
    Flag(("--affix",), "A", "make the features in the data"),
    Flag(("--spelling",), "A", "make the features in the data"),
    Flag(("--keep",), "A", "`--ignore` the other namespaces"),
    Flag(("--ignore_linear",), "A", "leave out the namespace's own weights: not there"),
    Flag(("--min_prediction",), "P", "clip the predictions afterwards"),
    Flag(("--max_prediction",), "P", "clip the predictions afterwards"),
    Flag(("--examples",), "N", "`head -N FILE | dwindle train -`"),
    Flag(("--initial_weight",), "W", "weights begin at 0: sparse models have no other"),
    Flag(("--feature_mask",), "FILE", "`--start-from MODEL`"),
    Flag(("--daemon",), "", "`dwindle serve MODEL`"),
    Flag(("--port",), "N", "`dwindle serve MODEL --port N`"),
    Flag(("--span_server",), "HOST", "`dwindle merge` makes one model of several machines'"),
    Flag(("--csoaa",), "K", _CLASSES),
    Flag(("--ect",), "K", _CLASSES),
    Flag(("--wap",), "K", _CLASSES),
    Flag(("--log_multi",), "K", _CLASSES),
    Flag(("--multilabel_oaa",), "K", "a model for each label"),
    Flag(("--cb",), "K", _BANDIT),
    Flag(("--cb_explore",), "K", _BANDIT),
    Flag(("--cb_adf",), "", _BANDIT),
    Flag(("--cb_explore_adf",), "", _BANDIT),
    Flag(("--nn",), "K", _ONE),
    Flag(("--lrq",), "AB", f"{_ONE}: `--interactions` are the products themselves"),
    Flag(("--boosting",), "N", _ONE),
    Flag(("--bootstrap",), "N", _ONE),
    Flag(("--lda",), "N", _ONE),
    Flag(("--rank",), "N", _ONE),
    Flag(("--search",), "K", _ONE),
    Flag(("--active",), "", "`dwindle predict`, and choose the examples yourself"),
)

FLAGS = {name: flag for flag in (*DONE, *UNNEEDED, *REFUSED) for name in flag.names}


class Given(NamedTuple):
    """A flag as it was given."""

    flag: Flag
    typed: str
    value: str


def read_flags(words: Sequence[str]) -> list[Given]:
    """Read words as Vowpal Wabbit does: ``--l1 1``, ``--l1=1``, ``-l1``; a bare word is data.

    A flag that is not there is refused by name; one that is refused, with what to use instead.
    """
    found: list[Given] = []
    left = list(words)
    while left:
        word = left.pop(0)
        if not word.startswith("-") or word == "-":
            found.append(Given(FLAGS["-d"], word, word))
            continue
        name, equals, value = word.partition("=")
        if not word.startswith("--") and word not in FLAGS and word[:2] in FLAGS:
            name, equals, value = word[:2], "=", word[2:].removeprefix("=")
        flag = FLAGS.get(name) or FLAGS.get(name.replace("-", "_").replace("__", "--", 1))
        if flag is None:
            raise click.UsageError(
                f"No such flag of Vowpal Wabbit here: {name}. See: dwindle vw -h"
            )
        if flag in REFUSED:
            raise click.UsageError(f"{name} is not done here: {flag.becomes}.")
        if flag.value and not equals:
            if not left:
                raise click.UsageError(f"{name} needs a value: {name} {flag.value}")
            value = left.pop(0)
        elif equals and not flag.value:
            raise click.UsageError(f"{name} takes no value, got {value!r}")
        found.append(Given(flag, f"{name} {value}" if flag.value else name, value))
    return found
