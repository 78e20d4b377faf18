"""What dwindle raises when it is the data, not the program, that is wrong."""


class DataError(ValueError):
    """The data cannot be learned from as it stands; the message says where and what to do."""


class DivergedError(ArithmeticError):
    """The weights ran away: a prediction is no longer a finite number."""
