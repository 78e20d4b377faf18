"""A service's figures for Prometheus."""

import math
import time

from dwindle._base.system import memory
from dwindle.serving.figures import Sheet
from dwindle.serving.service import LearningService, Service


def sheet_of(service: Service) -> str:
    """Return all figures as text."""
    figures, sheet = service.figures, Sheet()
    sheet.add(
        "requests_total",
        "counter",
        "Requests answered.",
        {f'path="{path}",status="{status}"': n for (path, status), n in figures.requests.items()},
    )
    sheet.add(
        "examples_total",
        "counter",
        "Examples taken or refused.",
        {f'path="{path}",outcome="{what}"': n for (path, what), n in figures.examples.items()},
    )
    sheet.histogram(
        "request_seconds",
        "Time from a request to its answer.",
        {f'path="{path}"': each for path, each in figures.latency.items()},
    )
    sheet.gauge("memory_bytes", "Resident memory.", memory())
    sheet.gauge("uptime_seconds", "Time since the start.", time.time() - service.since)
    if isinstance(service, LearningService):
        _add_learning(service, sheet)
    return sheet.text()


def _add_learning(service: LearningService, sheet: Sheet) -> None:
    figures, writer, online = service.figures, service.writer, service.online
    assert writer is not None
    sheet.gauge("waiting_examples", "Examples that wait to be learned.", writer.waiting)
    sheet.gauge("failed", "1 if nothing more can be learned.", float(writer.failed is not None))
    sheet.add("log_bytes_total", "counter", "Bytes logged.", {"": figures.log_bytes})
    sheet.histogram("log_seconds", "Time to make a group durable.", {"": figures.log_seconds})
    sheet.add("snapshots_total", "counter", "Snapshots written.", {"": figures.snapshots})
    sheet.gauge("snapshot_seconds", "Time of the last snapshot.", figures.snapshot_seconds)
    sheet.gauge("learned_examples", "Examples learned from, ever.", online.examples)
    if service.feed.points:
        last = service.feed.points[-1]
        sheet.gauge("features_kept", "Features with a weight.", last.kept)
        sheet.gauge("features_alive", "Features in the table.", last.alive)
        sheet.gauge("features_seen", "Distinct features seen.", last.seen)
        if last.weight:
            sheet.gauge("loss", "Mean loss before learning.", last.total / last.weight)
        if not math.isnan(last.figure):
            sheet.gauge("quality", "AUC, or accuracy of several classes.", last.figure)
