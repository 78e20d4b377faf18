"""Errors, files, signals, threads, the operating system and dispatch by class, for all rooms."""
