"""Regret certificates and plots."""
