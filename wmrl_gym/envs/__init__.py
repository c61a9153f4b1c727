"""Environments: tasks whose steps are scored by an execution."""
