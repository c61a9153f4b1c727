"""The report of a run: one HTML page that needs neither a server nor a network."""

from wmrl_gym.report.page import write_report
from wmrl_gym.report.run_data import RunData, read_run

__all__ = ["RunData", "read_run", "write_report"]
