"""The attacks need processes that fork, which Windows has not."""

import os

collect_ignore_glob = ["*.py"] if os.name == "nt" else []
