"""The image of the back end "docker": ours, which is almost empty, or one of the user's own.

Ours holds the directory links of this system, nothing else: interpreter, libraries and
packages are mounted into each container, exactly those that the other back ends show. It is
built here, from nothing, by `wmrl-gym sandbox build`.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import tarfile
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import wmrl_gym
from wmrl_gym.sandboxes.layout import Operation

if TYPE_CHECKING:
    from docker import DockerClient

_VARIABLE = "WMRL_GYM_DOCKER_IMAGE"
_REPOSITORY = "wmrl-gym-sandbox"
_LAYOUT = "wmrl-gym.layout"
"""Label of our image: which links it holds."""
_BUILD = "wmrl-gym sandbox build"


def own_image() -> str:
    """Name of the user's own image; empty if it is to be ours."""
    return os.environ.get(_VARIABLE, "")


def built_image() -> str:
    """Name of our image, which this version builds and uses."""
    return f"{_REPOSITORY}:{wmrl_gym.__version__}"


def build_image(client: DockerClient, steps: Iterable[Operation]) -> str:
    """Make our image for a file system of `steps`, unless it is there; its name."""
    from docker.errors import APIError

    steps = list(steps)
    if not find_fault_of_built(client, steps):
        return built_image()
    before = client.images.list(built_image())
    content = _content(steps)
    tag = wmrl_gym.__version__
    label = f"LABEL {_LAYOUT}={_digest(content)}"
    client.api.import_image_from_data(content, repository=_REPOSITORY, tag=tag, changes=[label])
    for image in before:
        with contextlib.suppress(APIError):  # a container still uses it, or it is gone
            client.images.remove(image.id)
    return built_image()


def find_fault_of_built(client: DockerClient, steps: Iterable[Operation]) -> str:
    """Why our image cannot be used for a file system of `steps`; empty if it can."""
    from docker.errors import ImageNotFound

    name = built_image()
    try:
        labels = client.images.get(name).labels
    except ImageNotFound:
        return f"no image {name} here; build it: {_BUILD}"
    if labels.get(_LAYOUT) != _digest(_content(steps)):
        return f"the image {name} was built for another installation; build it anew: {_BUILD}"
    return ""


def find_fault_of_own(client: DockerClient) -> str:
    """Why the user's own image cannot be used; empty if it is there."""
    from docker.errors import ImageNotFound

    name = own_image()
    try:
        client.images.get(name)
    except ImageNotFound:
        return f"{_VARIABLE}={name}: no such image here, and none is pulled; docker pull {name}"
    return ""


def image_environment(client: DockerClient) -> Mapping[str, str]:
    """Environment variables that the user's own image sets."""
    settings = client.images.get(own_image()).attrs["Config"]["Env"] or []
    return dict(setting.split("=", 1) for setting in settings)


def _content(steps: Iterable[Operation]) -> bytes:
    """A tar file of the links among `steps`, save those in directories that come with Docker."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        for name, path, *rest in steps:
            if name == "symlink" and not path.startswith("/dev/"):
                link = tarfile.TarInfo(path.lstrip("/"))
                link.type, link.linkname = tarfile.SYMTYPE, str(rest[0])
                archive.addfile(link)
    return stream.getvalue()


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]
