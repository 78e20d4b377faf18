"""Data sets that ship with dwindle or are generated."""
