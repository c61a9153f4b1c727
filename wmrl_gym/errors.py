"""Errors that users of the library can catch.

One root, one class for each boundary. Every constructor takes one message, so that an
error survives the trip between processes. Wrong arguments raise `ValueError`, or a class
below that is one, and name the parameter, the value and the mend.
"""


class WMRLError(Exception):
    """Root of all errors of `wmrl_gym`."""


class SandboxUnavailableError(WMRLError):
    """No sandbox back end that meets the requirements works on this machine."""


class TaskError(WMRLError, ValueError):
    """A task is unknown, or its data cannot be prepared or read."""


class WorldModelError(WMRLError):
    """A world model broke its contract: wrong length, a NaN score, or a score out of bounds."""


class MissingDependencyError(WMRLError, ImportError):
    """An optional dependency is not installed; the message names the extra that brings it."""


class ClusterError(WMRLError):
    """A Ray cluster cannot be reached, or its workers cannot carry out executions."""


class UnsupportedEnvironmentError(WMRLError, TypeError):
    """An environment lacks what a wrapper or an agent needs."""


class RenderingUnavailableError(WMRLError, RuntimeError):
    """No OpenGL can draw in this process; the message names the packages to install."""


class RunError(WMRLError):
    """A run directory cannot be created, read or resumed."""
