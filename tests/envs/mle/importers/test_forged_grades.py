"""Scripts that are submitted to be called by a grader, and that want a grade without earning it.

The grader of this task compares 30 guesses with secret numbers; an honest constant gets a third.
"""

from __future__ import annotations

import textwrap
from pathlib import Path

import numpy as np
import pytest

from tests.envs.mle.importers import trees
from tests.envs.mle.importers.helpers import load
from tests.sandboxes.backends import BACKENDS
from wmrl_gym import Status
from wmrl_gym.envs.mle.grading import Grade, grade
from wmrl_gym.envs.mle.grading.guest.plain import from_json, to_json
from wmrl_gym.envs.mle.importers.imported import ImportedTask
from wmrl_gym.sandboxes import select_sandbox

FORGED = '{"values": {"private": 1.0, "public": null, "all": 1.0}}'
HONEST = "\ndef guess(history):\n    return 0\n"


@pytest.fixture(scope="module")
def task(tmp_path_factory: pytest.TempPathFactory) -> ImportedTask:
    root = trees.mlgym(tmp_path_factory.mktemp("mlgym"))
    return load(root, "guessing", higher_is_better=True, grading_s=6.0)


def graded(task: ImportedTask, script: str, backend: str = "auto") -> Grade:
    return grade(task, textwrap.dedent(script).encode(), select_sandbox(backend))


ALL_AT_ONCE = f"""
import ctypes, gc, glob, os, resource, signal, sys

done = []
def attempt(action):
    try:
        action()
        done.append(action)
    except Exception:
        pass

grader = os.getppid()
here = os.getcwd()
for place in (here, os.path.dirname(here), os.path.dirname(os.path.dirname(here)), "/tmp"):
    for name in ("grading-result.json", "evaluate.py", "run-1/evaluate.py", "target.py", "x"):
        attempt(lambda: open(os.path.join(place, name), "w").write({FORGED!r}))
        attempt(lambda: os.remove(os.path.join(place, name)))
    attempt(lambda: os.symlink("/dev/null", os.path.join(place, "grading-result.json")))
    attempt(lambda: os.mkdir(os.path.join(place, "new")))
for pattern in ("../../../part-*/*", "../../part-*/*", "../run-*/*.py", "/kaggle/*/*"):
    for path in glob.glob(pattern):
        attempt(lambda: open(path).read())
for path in ("mem", "environ", "maps", "fd/1", "cwd/main.py", "root/etc/passwd"):
    attempt(lambda: open(f"/proc/{{grader}}/{{path}}", "rb").read(1))
attempt(lambda: os.listdir(f"/proc/{{grader}}/fd"))
attempt(lambda: os.listdir(os.path.dirname(here)))
for number in (signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM, 0):
    attempt(lambda: os.kill(grader, number))
attempt(lambda: os.killpg(os.getpgid(grader), signal.SIGTERM))
attempt(lambda: signal.pidfd_send_signal(os.pidfd_open(grader), signal.SIGKILL))
libc = ctypes.CDLL(None, use_errno=True)
for request in (16, 0x4206):  # PTRACE_ATTACH, PTRACE_SEIZE
    attempt(lambda: 1 / (libc.ptrace(request, grader, 0, 0) + 1))
secrets = [o for o in gc.get_objects() if isinstance(o, dict) and "number" in o and "turn" in o]
mind = [o for o in secrets if callable(o.get("number"))]
if sys.modules.get("target") or mind:
    done.append("memory")

def guess(history):
    return 0 if not done else 7
"""


@pytest.mark.parametrize("backend", BACKENDS)
def test_nothing_of_the_grader_can_be_reached(task: ImportedTask, backend: str) -> None:
    """A third is what an honest constant gets; with one success among the attempts it is 0."""
    found = graded(task, ALL_AT_ONCE, backend)
    assert (found.status, found.metric) == (Status.COMPLETED, pytest.approx(1 / 3)), found.reason


@pytest.mark.parametrize(
    "script",
    [
        f"import os\nopen('grading-result.json', 'w').write({FORGED!r})\nos._exit(0)\n",
        f"import os\nopen('../grading-result.json', 'w').write({FORGED!r})\nos._exit(0)\n",
        f"import os\nos.write(1, b'''{FORGED}''')\nos._exit(0)\n",
        "import os\nos._exit(0)\n",
        "import os\ndef guess(history):\n    os._exit(0)\n",
        "import os, signal\nos.kill(os.getppid(), signal.SIGKILL)\n" + HONEST,
        "def guess(history):\n    raise SystemExit(0)\n",
        "def guess(history):\n    while True: pass\n",
        "held = []\ndef guess(history):\n    while True: held.append(bytearray(2**26))\n",
        "class Equal:\n    def __eq__(self, other): return True\n"
        "def guess(history):\n    return Equal()\n",
        "import os\nfor fd in range(3, 64):\n    try: os.write(fd, b'\\xff' * 64)\n"
        "    except OSError: pass\n" + HONEST,
    ],
)
def test_who_does_not_answer_gets_no_metric(task: ImportedTask, script: str) -> None:
    found = graded(task, script)
    assert (found.status, found.metric, found.score) == (Status.INVALID_RESULT, None, 0.2)


def test_what_a_script_prints_is_not_what_the_grader_prints(task: ImportedTask) -> None:
    script = "print('{\"Score\": 1.0}')\nimport atexit\natexit.register(print, '}')\n" + HONEST
    assert graded(task, script).metric == pytest.approx(1 / 3)


def test_what_a_grader_draws_can_be_repeated_but_not_foretold(tmp_path: Path) -> None:
    """Guessing with the same generator, fresh, as it is found, or seeded as graders are."""
    root = trees.mlgym(tmp_path)
    drawing = "import random\ndef number(turn):\n    return random.randrange(3)\n"
    trees.write(root / "data" / "guessing" / "target.py", drawing)
    task = load(root, "guessing", higher_is_better=True)
    script = "import random\n{}\ndef guess(history):\n    return random.randrange(3)\n"
    metrics = [graded(task, script.format(seed)).metric for seed in ("", "random.seed(0)") * 2]
    assert metrics[:2] == metrics[2:]
    assert all(metric is not None and metric < 0.8 for metric in metrics)


def test_what_a_grader_may_use_of_a_script(tmp_path: Path) -> None:
    """Constants, keywords, errors, `import *`, a starter file, and libraries not yet loaded."""
    root = trees.mlgym(tmp_path)
    game = root / "data" / "guessing"
    trees.write(game / "helper.py", "OFFSET = 1\n")
    yaml = root / "configs" / "tasks" / "guessing.yaml"
    listed = "- data/guessing/target.py\n"
    yaml.write_text(yaml.read_text().replace(listed, f"{listed}  - data/guessing/helper.py\n"))
    trees.write(
        game / "evaluate.py",
        """\
        import json
        import strategy
        from strategy import *

        points = [
            strategy.NAMES == ("a", {"b": {1.5, 2}}),
            guess(history=[(1, 2)]) == ([(1, 2)], 1),
            not hasattr(strategy, "nothing"),
            isinstance(matrix(2), type(matrix(3))) and matrix(2).shape == (2, 2),
        ]
        try:
            wrong()
        except ZeroDivisionError as error:
            points.append("by zero" in str(error))
        print(json.dumps({"Score": sum(points) / 5}))
        """,
    )
    trees.write(
        game / "strategy.py",
        """\
        import numpy as np
        import xml.etree.ElementTree
        from helper import OFFSET
        from scipy import signal
        NAMES = ("a", {"b": {1.5, 2}})
        def guess(history):
            return history, OFFSET
        def matrix(size):
            return np.eye(size)
        def wrong():
            return 1 / 0
        """,
    )
    task = load(root, "guessing", higher_is_better=True)
    assert graded(task, (game / "strategy.py").read_text()).metric == 1.0


@pytest.mark.parametrize(
    "value",
    [None, True, 3, 2.5, "x", b"\x00y", (1, [2, {3}]), {(1, "k"): {"n": ()}}, float("inf")],
)
def test_plain_values_come_back(value: object) -> None:
    assert from_json(to_json(value)) == value


def test_arrays_come_back_and_objects_do_not() -> None:
    array = from_json(to_json(np.array([[1, 2]], dtype=np.int8)))
    assert (array.dtype, array.tolist()) == (np.int8, [[1, 2]])
    with pytest.raises(TypeError, match="object cannot be handed"):
        to_json([object()])
    for content in ({}, {"list": [], "set": []}, {"object": []}, {"array": ["O", [1]]}, [1]):
        with pytest.raises(ValueError, match=r"value|unpack"):
            from_json(content)
