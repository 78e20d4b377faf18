"""What dwindle raises when it is the data, not the program, that is wrong."""


class _AboutExampleError(Exception):
    """Says what is wrong, and with which example of a batch if it is about one."""

    def __init__(self, what: str, example: int | None = None) -> None:
        super().__init__(what if example is None else f"example {example}: {what}")
        self.what = what
        self.example = example


class DataError(_AboutExampleError, ValueError):
    """The data cannot be learned from as it stands; the message says where and what to do."""


class DivergedError(_AboutExampleError, ArithmeticError):
    """The weights ran away: a prediction is no longer a finite number."""


class SettingError(ValueError):
    """A setting, or a combination of settings, that cannot be used; the message says why."""
