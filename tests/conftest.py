import os

from hypothesis import settings

# Compiling a kernel takes seconds, so a deadline would say nothing about the test.
settings.register_profile("here", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("here")
