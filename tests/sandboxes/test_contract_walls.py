"""What a job must not reach, in every back end."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from tests.sandboxes.helpers import job
from wmrl_gym.sandboxes import JobStatus, Sandbox

_REFUSED = """
def refused(action):
    try:
        got = action()
    except (OSError, ImportError) as error:
        return True
    print("got through:", got)
    return False
"""


def _assert_refused(sandbox: Sandbox, action: str, **arguments: object) -> None:
    script = f"import os, socket, sys\n{_REFUSED}\nprint(refused(lambda: {action}))\n"
    result = sandbox.run(job(script, **arguments))
    assert (result.status, result.stdout) == (JobStatus.OK, "True\n"), result.stderr


def test_the_hosts_loopback_is_out_of_reach(sandbox: Sandbox) -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        address = listener.getsockname()
        _assert_refused(sandbox, f"socket.create_connection({address!r}, timeout=3)")


@pytest.mark.parametrize(
    "action",
    [
        "socket.create_connection(('192.0.2.1', 80), timeout=3)",
        "socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('192.0.2.1', 53))",
        "socket.getaddrinfo('example.com', 80)",
        "socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)",
        "socket.socket(socket.AF_PACKET, socket.SOCK_RAW)",
    ],
)
def test_the_network_is_off(sandbox: Sandbox, action: str) -> None:
    _assert_refused(sandbox, action)


def test_an_abstract_socket_of_the_host_is_out_of_reach(sandbox: Sandbox) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("\0wmrl-gym-test")
        listener.listen()
        _assert_refused(sandbox, "socket.socket(socket.AF_UNIX).connect('\\0wmrl-gym-test')")


def test_files_of_the_host_are_hidden(sandbox: Sandbox, tmp_path: Path) -> None:
    secret = tmp_path / "labels.csv"
    secret.write_text("secret")
    public = tmp_path / "public"
    public.mkdir()
    (public / "link.csv").symlink_to(secret)
    _assert_refused(sandbox, f"os.link({str(secret)!r}, 'stolen')")
    for path in (secret, f"/proc/1/root{secret}", f"/proc/{os.getpid()}/root{secret}"):
        _assert_refused(sandbox, f"open({str(path)!r}).read()")
    _assert_refused(sandbox, "open('../input/link.csv').read()", data={"input": public})
    _assert_refused(sandbox, "open('../input/../labels.csv').read()", data={"input": public})


@pytest.mark.parametrize(
    "path",
    [
        "/proc/1/environ",
        "/proc/1/mem",
        "/proc/1/fd/0",
        "/proc/1/fd/3",
        "/proc/1/cwd/x",
        "/proc/1/map_files",
        "/etc/shadow",
        "/sys/kernel/notes",
        "/proc/kcore",
    ],
)
def test_sensitive_places_are_hidden(sandbox: Sandbox, path: str) -> None:
    _assert_refused(sandbox, f"open({path!r})")


def test_the_parents_environment_is_hidden(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("API_KEY", "a-very-secret-key")
    script = """
        import glob
        texts = []
        for path in glob.glob("/proc/[0-9]*/environ") + [f"/proc/{%d}/environ"]:
            try:
                texts.append(open(path, "rb").read())
            except OSError:
                pass
        print(any(b"a-very-secret-key" in text for text in texts))
    """
    result = sandbox.run(job(script % os.getpid()))
    assert (result.status, result.stdout) == (JobStatus.OK, "False\n"), result.stderr


def test_the_watcher_cannot_be_signalled_or_limited(sandbox: Sandbox) -> None:
    parent = "os.getppid()"
    for action in (
        f"os.kill({os.getpid()}, 0)",
        "__import__('resource').prlimit(" + parent + ", 0, (1, 1))",
    ):
        _assert_refused(sandbox, action)
    script = """
        import os, signal
        for number in signal.valid_signals():
            try:
                os.kill(os.getppid(), number)
            except OSError:
                pass
        print(1)
    """
    result = sandbox.run(job(script))
    assert (result.status, result.stdout) == (JobStatus.OK, "1\n"), result.error


@pytest.mark.parametrize(
    "name", ["river", "statsmodels", "sklego", "vega_datasets", "palmerpenguins", "wmrl_gym"]
)
def test_packages_with_data_cannot_be_imported(sandbox: Sandbox, name: str) -> None:
    _assert_refused(sandbox, f"__import__({name!r})")


def test_packages_with_data_cannot_be_found(sandbox: Sandbox) -> None:
    import river
    import statsmodels.datasets

    for package in (river, statsmodels.datasets):
        directory = str(Path(package.__path__[0]))
        _assert_refused(sandbox, f"os.listdir({directory!r})")
    script = """
        import os, sys
        for entry in sys.path:
            if os.path.isdir(entry):
                print(*os.listdir(entry))
    """
    listed = sandbox.run(job(script)).stdout.split()
    assert "numpy" in listed
    assert not {"river", "statsmodels", "sklego", "vega_datasets"} & set(listed)


@pytest.mark.parametrize(
    "action",
    [
        "__import__('sklearn.datasets').datasets.load_wine()",
        "__import__('sklearn.datasets').datasets.load_breast_cancer()",
        "__import__('sklearn.datasets').datasets.load_digits()",
        "__import__('sklearn.datasets').datasets.load_sample_images()",
    ],
)
def test_data_of_scikit_learn_is_hidden(sandbox: Sandbox, action: str) -> None:
    _assert_refused(sandbox, action)


def test_no_test_data_of_libraries_is_readable(sandbox: Sandbox) -> None:
    script = """
        import glob, os, scipy, sklearn
        for package in (scipy, sklearn):
            for path in glob.glob(package.__path__[0] + "/**/*", recursive=True):
                if "/tests/data/" in path and os.path.isfile(path):
                    try:
                        open(path).close()
                        print(path)
                    except OSError:
                        pass
    """
    result = sandbox.run(job(script))
    assert (result.status, result.stdout) == (JobStatus.OK, "")


def test_only_the_working_directory_is_writable(sandbox: Sandbox, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("data")
    for action in (
        "open('../input/b.csv', 'w')",
        "open('../input/a.csv', 'a')",
        "os.remove('../input/a.csv')",
        "os.rename('../input/a.csv', 'a.csv')",
        "open(os.path.join(os.path.dirname(os.__file__), 'evil.py'), 'w')",
        "open(os.path.join(__import__('numpy').__path__[0], 'evil.py'), 'w')",
        "open(os.path.join(sys.prefix, 'evil.py'), 'w')",
        "open('/evil', 'w')",
        "open('/dev/evil', 'w')",
        "open('/etc/evil', 'w')",
        "open('/proc/sys/kernel/hostname', 'w')",
    ):
        _assert_refused(sandbox, action, data={"input": tmp_path})
    assert (tmp_path / "a.csv").read_text() == "data"
    assert [path.name for path in tmp_path.iterdir()] == ["a.csv"]


def test_a_hosts_file_mode_cannot_be_changed(sandbox: Sandbox, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("data")
    before = (tmp_path / "a.csv").stat()
    script = """
        import os
        for action in (lambda p: os.chmod(p, 0), lambda p: os.utime(p, (1, 1))):
            try:
                action("../input/a.csv")
            except OSError:
                pass
    """
    assert sandbox.run(job(script, data={"input": tmp_path})).status is JobStatus.OK
    after = (tmp_path / "a.csv").stat()
    assert (after.st_mode, after.st_mtime) == (before.st_mode, before.st_mtime)


def test_privileges_cannot_be_gained(sandbox: Sandbox) -> None:
    script = """
        import ctypes, os
        libc = ctypes.CDLL(None, use_errno=True)
        print(os.getuid() != 0 or "root", libc.unshare(0x10000000), libc.chroot(b"."))
        print(libc.mount(b"none", b"/", None, 0x44000, None), libc.ptrace(16, os.getppid(), 0, 0))
        for action in (lambda: os.setuid(0), lambda: os.mknod("x", 0o60600, 0)):
            try:
                action()
                print("got through")
            except OSError:
                pass
    """
    result = sandbox.run(job(script))
    assert (result.status, result.stdout) == (JobStatus.OK, "True -1 -1\n-1 -1\n"), result.stderr


def test_nothing_of_ours_is_open_in_the_job(sandbox: Sandbox) -> None:
    script = """
        import os
        names = {n: os.readlink(f"/proc/self/fd/{n}") for n in os.listdir("/proc/self/fd")[:-1]}
        print(sorted(names))
    """
    assert sandbox.run(job(script)).stdout == "['0', '1', '2']\n"
