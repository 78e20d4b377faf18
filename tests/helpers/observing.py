"""An observer made of functions."""

from dwindle.runs.observer import Observer

CALLED = {
    "on_row": "row",
    "on_batch": "position",
    "on_pass": "pass_ended",
    "on_note": "note",
    "on_run": "runs",
    "on_best": "best",
    "on_found": "found",
    "stopping": "should_stop",
}


def heard(**functions):
    """An observer that calls these functions."""
    observer = Observer()
    for name, function in functions.items():
        setattr(observer, CALLED[name], function)
    return observer
