"""Back end "docker": one container for one job, with the same watcher inside as elsewhere.

The caller and the watcher talk over a socket that is handed to the container when it starts
(`rendezvous`); Docker's own streams and copies are not used. The kernel's
cgroups bound memory, processes and CPU, whatever the job does to hide from the watcher.

The engine has to be on this machine: containers show its directories.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from wmrl_gym.errors import MissingDependencyError, SandboxUnavailableError
from wmrl_gym.sandboxes import layout
from wmrl_gym.sandboxes.backend import Backend
from wmrl_gym.sandboxes.base import Job, Limits
from wmrl_gym.sandboxes.docker import container as containers
from wmrl_gym.sandboxes.docker import image as images
from wmrl_gym.sandboxes.docker import sweep
from wmrl_gym.sandboxes.docker.engine import engine_errors
from wmrl_gym.sandboxes.docker.rendezvous import Rendezvous
from wmrl_gym.sandboxes.docker.site import DockerSite
from wmrl_gym.sandboxes.docker.views import (
    FIND_ANSWERS,
    Bind,
    View,
    hide_machine,
    view_of_host,
    view_of_image,
)
from wmrl_gym.sandboxes.exchange import GRACE_S, START_S, Conversation, Exchange
from wmrl_gym.sandboxes.gpus import lease_gpus
from wmrl_gym.sandboxes.guest import wire
from wmrl_gym.sandboxes.jobs import request_of

_UNCOUNTED = 1 << 20
"""For a limit that counts all of a user's processes on the machine; the cgroup counts ours."""


class DockerSandbox(Backend):
    """Jobs in containers of a Docker engine on this machine."""

    name = "docker"
    passes_gpus = True

    _site: DockerSite | None = None

    def _forget(self) -> None:
        super()._forget()
        if self._site is not None:
            self._site.disown()
        self._site = None
        self._view: View | None = None

    def _promises(self) -> frozenset[str]:
        return self.guarantees  # memory is counted by a cgroup, with or without seccomp

    def _missing(self) -> str:
        try:
            site = self._open_site()
            with engine_errors():
                if images.own_image():
                    return images.find_fault_of_own(site.client)
                return images.find_fault_of_built(site.client, self._links())
        except (SandboxUnavailableError, MissingDependencyError, OSError) as error:
            return str(error)

    def build_image(self) -> str:
        """Build our image on the engine; its name.

        Raises:
            SandboxUnavailableError: No engine answers, or it fails.
            MissingDependencyError: The package `docker` is not installed.
        """
        site = self._open_site()
        with engine_errors():
            return images.build_image(site.client, self._links())

    def _links(self) -> list[layout.Operation]:
        return layout.operations(self.runtime, self.prefix.path, {}, 0)

    def _open_site(self) -> DockerSite:
        with self._lock:
            if self._site is None:
                self._site = DockerSite()
            return self._site

    def _converse(self, job: Job, conversation: Conversation) -> Exchange:
        site = self._open_site()
        with engine_errors(), lease_gpus(job.limits.gpus) as gpus:
            return self._run_in(site, self._find_view(site), job, conversation, gpus)

    def _find_view(self, site: DockerSite) -> View:
        with self._lock:
            if self._view is None:
                self._view = self._make_view(site)
            return self._view

    def _make_view(self, site: DockerSite) -> View:
        image = images.own_image()
        if not image:
            return view_of_host(images.built_image(), self.runtime, self.prefix)
        environment = images.image_environment(site.client)
        bare = view_of_image(image, environment, [], site.empty)
        masked = self._find_answers(site, bare)
        return view_of_image(image, environment, masked, site.empty)

    def _find_answers(self, site: DockerSite, view: View) -> list[str]:
        """What to mask in the user's own image, which only a look into it can tell."""
        job = Job({"main.py": FIND_ANSWERS.encode()}, outputs=["masked.json"])
        conversation = Conversation()
        try:
            exchange = self._run_in(site, view, job, conversation, gpus=())
        finally:
            conversation.close()
        for header, content in exchange.messages:
            if header["kind"] == "output":
                return [str(path) for path in json.loads(content)]
        raise SandboxUnavailableError(
            f"the image {view.image} could not be searched for data: {exchange.stderr}"
        )

    def _run_in(
        self,
        site: DockerSite,
        view: View,
        job: Job,
        conversation: Conversation,
        gpus: Sequence[str],
    ) -> Exchange:
        data = {name: site.staging.readable(path.resolve()) for name, path in job.data.items()}
        binds = [(str(path), f"{layout.ROOM}/{name}") for name, path in data.items()]
        if not gpus:  # a GPU's libraries look at the machine
            binds += hide_machine(site.empty)
        request = _request(job, view)
        with site.in_use(), Rendezvous(site.meetings) as rendezvous:
            binds.append((str(rendezvous.directory), containers.MEETING_PLACE))
            described = _describe(site, view, job.limits, binds, gpus)
            with containers.running(site.client, described) as container:
                check = partial(containers.require_alive, container)
                rendezvous.hand_over(conversation.guest_descriptors, check)
                conversation.release_guest()
                limits = job.limits
                exchange = conversation.hold(request, limits.wall_s, limits.output_kb << 10)
                containers.explain(exchange, container)
        return exchange

    def close(self) -> None:
        """Remove all containers and directories; safe to call twice."""
        with self._lock:
            site, self._site, self._view = self._site, None, None
        if site is not None:
            site.close()
        super().close()


def _describe(
    site: DockerSite, view: View, limits: Limits, binds: Sequence[Bind], gpus: Sequence[str]
) -> dict[str, Any]:
    seconds = START_S + limits.wall_s + 2 * GRACE_S  # the watcher ends itself before that
    return containers.arguments(
        view,
        limits,
        binds=binds,
        labels=sweep.labels_of(site.owner, seconds),
        gpus=gpus,
        processors=site.processors,
    )


def _request(job: Job, view: View) -> bytes:
    header, files = request_of(job, Path(view.python), workdir=layout.WORKDIR, home=layout.HOME)
    header.update(
        own_userns=False,
        change_user=False,
        other_processes=_UNCOUNTED,
        writable=list(view.writable),
        own_cgroup=True,
        directories=[layout.WORKDIR, layout.HOME],
        deadline_s=job.limits.wall_s + GRACE_S,
    )
    if view.environment:
        path = view.environment["PATH"]
        header["env"] = {**view.environment, **header["env"], "PATH": path, **job.env}
    return wire.encode(header, files)
