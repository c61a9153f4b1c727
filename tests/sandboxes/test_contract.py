"""What every back end does alike: run a program and bring back what came of it."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from tests.sandboxes.helpers import job
from wmrl_gym.sandboxes import Job, JobStatus, Sandbox


def test_output_and_exit_code_come_back(sandbox: Sandbox) -> None:
    result = sandbox.run(
        job(
            """
            import sys
            print("hello")
            print("to stderr", file=sys.stderr)
            open("out.txt", "w").write("written")
            """,
            outputs=["out.txt", "absent.txt"],
        )
    )
    assert (result.status, result.exit_code, result.error) == (JobStatus.OK, 0, "")
    assert (result.stdout, result.stderr) == ("hello\n", "to stderr\n")
    assert (result.outputs, result.skipped) == ({"out.txt": b"written"}, {})
    assert not result.truncated
    assert result.backend == sandbox.name
    assert 0.0 < result.wall_s < 60.0
    assert result.cpu_s is not None
    assert result.peak_mb is not None
    assert result.peak_mb > 1.0


@pytest.mark.parametrize(
    ("code", "exit_code", "stderr"), [("3", 3, ""), ("0", 0, ""), ("", 0, ""), ("'no'", 1, "no\n")]
)
def test_exit_codes(sandbox: Sandbox, code: str, exit_code: int, stderr: str) -> None:
    result = sandbox.run(job(f"import sys; sys.exit({code})"))
    assert (result.exit_code, result.stderr) == (exit_code, stderr)
    assert result.status is (JobStatus.ERROR if exit_code else JobStatus.OK)


def test_a_signal_of_its_own_is_an_error(sandbox: Sandbox) -> None:
    result = sandbox.run(job("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)"))
    assert (result.status, result.exit_code) == (JobStatus.ERROR, -11)


def test_a_traceback_shows_the_script_only(sandbox: Sandbox) -> None:
    result = sandbox.run(job("def fail():\n    return 1 / 0\n\nfail()\n"))
    assert (result.status, result.exit_code) == (JobStatus.ERROR, 1)
    lines = result.stderr.splitlines()
    assert lines[0] == "Traceback (most recent call last):"
    assert lines[1].startswith('  File "')
    assert lines[1].endswith('main.py", line 4, in <module>')
    assert lines[-1] == "ZeroDivisionError: division by zero"
    assert result.stderr.count("File ") == 2


def test_a_syntax_error_looks_like_pythons(sandbox: Sandbox) -> None:
    result = sandbox.run(job("x = (\n"))
    assert (result.status, result.exit_code) == (JobStatus.ERROR, 1)
    assert result.stderr.startswith('  File "')
    assert "main.py" in result.stderr.splitlines()[0]
    assert result.stderr.splitlines()[-1].startswith("SyntaxError: ")


def test_the_program_is_main_with_its_directory(sandbox: Sandbox) -> None:
    script = """
        import atexit, helper, os, sys
        atexit.register(print, "at exit")
        print(__name__, helper.VALUE, sys.argv, os.path.basename(__file__))
        print(os.path.basename(os.getcwd()), sys.stdin.read() == "")
    """
    given = job(script)
    result = sandbox.run(Job(files={**given.files, "helper.py": b"VALUE = 7"}))
    assert result.stderr == ""
    assert result.stdout == "__main__ 7 ['main.py'] main.py\nworking True\nat exit\n"


def test_data_is_beside_the_working_directory(sandbox: Sandbox, tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "a.txt").write_text("data")
    result = sandbox.run(job("print(open('../input/sub/a.txt').read())", data={"input": tmp_path}))
    assert (result.stdout, result.stderr) == ("data\n", "")


def test_its_own_files_can_be_changed(sandbox: Sandbox) -> None:
    result = sandbox.run(
        job(
            """
            import os, shutil, tempfile
            open("main.py", "a").write("# more")
            os.chmod("main.py", 0o600); os.utime("main.py", (1, 1))
            shutil.copy("main.py", "copy.py")
            os.mkdir("sub"); os.rename("copy.py", "sub/copy.py")
            with tempfile.NamedTemporaryFile() as file:
                print(os.path.dirname(file.name) == os.environ["TMPDIR"] == os.environ["HOME"])
            """
        )
    )
    assert (result.stdout, result.stderr) == ("True\n", "")


def test_the_environment_is_the_jobs_alone(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("API_KEY", "secret")
    script = """
        import os
        print(os.environ.get("API_KEY"), os.environ["GIVEN"], os.environ["LANG"])
        print([os.environ[n] for n in ("OMP_NUM_THREADS", "LOKY_MAX_CPU_COUNT", "PYTHONHASHSEED")])
    """
    result = sandbox.run(job(script, env={"GIVEN": "a=b"}, threads=2))
    assert result.stdout == "None a=b C.UTF-8\n['2', '2', '0']\n"


def test_two_jobs_at_once_are_apart(sandbox: Sandbox) -> None:
    script = """
        import os, sys, time
        open("mine.txt", "w").write(os.environ["NAME"])
        time.sleep(1)
        print(open("mine.txt").read(), sorted(os.listdir(".")))
    """
    results = {}

    def run(name: str) -> None:
        results[name] = sandbox.run(job(script, env={"NAME": name}))

    threads = [threading.Thread(target=run, args=(name,)) for name in "ab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {n: r.stdout for n, r in results.items()} == {
        n: f"{n} ['main.py', 'mine.txt']\n" for n in "ab"
    }


def test_random_numbers_differ_between_jobs(sandbox: Sandbox) -> None:
    script = "import numpy, random; print(numpy.random.rand(), random.random())"
    assert sandbox.run(job(script)).stdout != sandbox.run(job(script)).stdout


@pytest.mark.slow
def test_a_model_is_trained_from_csv_to_csv(sandbox: Sandbox, tmp_path: Path) -> None:
    rows = "\n".join(f"{i % 7},{i % 5},{int(i % 7 > 3)}" for i in range(300))
    (tmp_path / "train.csv").write_text("a,b,y\n" + rows + "\n")
    script = """
        import pandas as pd
        from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
        from sklearn.model_selection import cross_val_score

        train = pd.read_csv("../input/train.csv")
        X, y = train[["a", "b"]], train["y"]
        forest = RandomForestClassifier(20, n_jobs=2, random_state=0).fit(X, y)
        boosted = HistGradientBoostingClassifier(max_iter=10).fit(X, y)
        print(cross_val_score(forest, X, y, cv=2, n_jobs=-1).mean(), boosted.score(X, y))
        print(cross_val_score(forest, X, y, cv=2, n_jobs=2).mean())
        pd.DataFrame({"y": forest.predict(X)}).to_csv("submission.csv", index=False)
    """
    result = sandbox.run(
        job(script, data={"input": tmp_path}, outputs=["submission.csv"], threads=2)
    )
    assert (result.status, result.stderr) == (JobStatus.OK, "")
    assert result.stdout == "1.0 1.0\n1.0\n"
    expected = ["y", *(str(int(i % 7 > 3)) for i in range(300))]
    assert result.outputs["submission.csv"].decode().split() == expected


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"files": {"main.py": b"", "a/b": b""}}, "files"),
        ({"files": {"main.py": b"", "..": b""}}, "files"),
        ({"files": {}}, "entry"),
        ({"outputs": ["../x"]}, "outputs"),
        ({"data": {"input": Path("/nonexistent/data")}}, "/nonexistent/data"),
        ({"data": {"working": Path("/")}}, "working"),
        ({"env": {"A=B": "c"}}, "env"),
    ],
)
def test_a_job_that_cannot_be_run_is_refused(
    sandbox: Sandbox, change: dict[str, object], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        sandbox.run(Job(**{"files": {"main.py": b""}, **change}))
