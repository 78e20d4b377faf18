"""A run is stopped when it asks for the n-th time whether it should."""


def stopped_after(n):
    """A question that is answered yes at the n-th time."""
    times = iter(range(1, 10**9))
    return lambda: next(times) == n
