"""Running code that nobody trusts.

`select_sandbox()` gives a `Sandbox`; it runs a `Job` and gives a `JobResult`. What a back end
promises is in `GUARANTEES`; `probe_all()` says which back ends work on this machine.
"""

from wmrl_gym.sandboxes.base import GUARANTEES as GUARANTEES
from wmrl_gym.sandboxes.base import Job as Job
from wmrl_gym.sandboxes.base import JobResult as JobResult
from wmrl_gym.sandboxes.base import JobStatus as JobStatus
from wmrl_gym.sandboxes.base import Limits as Limits
from wmrl_gym.sandboxes.base import Probe as Probe
from wmrl_gym.sandboxes.base import Sandbox as Sandbox
from wmrl_gym.sandboxes.select import BACKEND_NAMES as BACKEND_NAMES
from wmrl_gym.sandboxes.select import GPU_BACKENDS as GPU_BACKENDS
from wmrl_gym.sandboxes.select import probe_all as probe_all
from wmrl_gym.sandboxes.select import select_sandbox as select_sandbox

__all__ = [
    "BACKEND_NAMES",
    "GPU_BACKENDS",
    "GUARANTEES",
    "Job",
    "JobResult",
    "JobStatus",
    "Limits",
    "Probe",
    "Sandbox",
    "probe_all",
    "select_sandbox",
]
