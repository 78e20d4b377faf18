"""Attacks on what dwindle promises: fuzzing, failing system calls, kills, memory that ends at a wall.

`make fuzz`, `make faults`, `make kills` and `make test-bounds` run them at length; the tests in this
folder run a little of each. `docs/reliability.md` says what is promised and shows the results.
"""
