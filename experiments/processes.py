"""Work that is divided among processes, one for each core."""

import multiprocessing
import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from typing import Any, TypeVar

Unit = TypeVar("Unit")
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def made(
    todo: Iterable[Unit], make: Callable[[Unit], Any], jobs: int
) -> Iterator[tuple[Unit, Any]]:
    """Yield each unit and what it comes to, as it comes; no unit is begun after an error."""
    for name in THREADS:  # the processes are as many as the cores
        os.environ[name] = "1"
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, context) as processes:
        going = {processes.submit(make, unit): unit for unit in todo}
        try:
            while going:
                done, _ = wait(going, return_when=FIRST_COMPLETED)
                for future in done:
                    yield going.pop(future), future.result()
        except BaseException:
            processes.shutdown(wait=False, cancel_futures=True)
            raise
