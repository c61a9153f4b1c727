"""`wmrl-gym grade` and `wmrl-gym grade-sample`, on real files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from wmrl_gym.cli import main
from wmrl_gym.envs.mle.catalog import load_task
from wmrl_gym.envs.mle.table_task import TableTask
from wmrl_gym.interchange.mle_bench import Submission, write_submissions

TASK = "wine-cultivar"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WMRL_GYM_CACHE", str(tmp_path / "cache"))


def sample() -> Path:
    return load_task(TASK).public / "sample_submission.csv"


def test_grade_writes_one_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    empty = tmp_path / "empty.csv"
    empty.touch()
    listed = tmp_path / "submissions.jsonl"
    paths = [str(sample()), str(empty), str(tmp_path / "missing.csv"), None]
    write_submissions(listed, [Submission(TASK, path) for path in paths])
    main(["grade", "--submission", str(listed), "--output-dir", str(tmp_path / "out")])
    printed = capsys.readouterr().out
    [path] = (tmp_path / "out").iterdir()
    assert str(path) in printed
    report = json.loads(path.read_text())
    assert [one["valid_submission"] for one in report["competition_reports"]] == [
        True, False, False, False,
    ]  # fmt: skip
    assert [one["submission_exists"] for one in report["competition_reports"]] == [
        True, True, False, False,
    ]  # fmt: skip
    assert report["competition_reports"][0]["score"] == 1.09861  # log 3: three equal classes
    assert report["total_runs"] == 4
    [invalid] = report["invalid_submissions"]
    assert invalid["reason"] == "the file is empty"


def test_what_could_not_be_graded_ends_in_an_error_and_a_report(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    task = load_task(TASK)
    assert isinstance(task, TableTask)
    listed = tmp_path / "submissions.jsonl"
    write_submissions(listed, [Submission(TASK, str(sample()))])
    (task.private / "test.csv").write_text("these are no answers\n")
    with pytest.raises(SystemExit) as stopped:
        main(["grade", "--submission", str(listed), "--output-dir", str(tmp_path / "out")])
    assert "1 of 1 submissions could not be graded" in str(stopped.value)
    [path] = (tmp_path / "out").iterdir()
    report = json.loads(path.read_text())
    assert (report["total_runs"], len(report["grader_errors"])) == (0, 1)
    with pytest.raises(SystemExit) as stopped:
        main(["grade-sample", str(sample()), TASK])
    assert "grader_error" in str(stopped.value)


def test_grade_sample_prints_one_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["grade-sample", str(sample()), TASK])
    report = json.loads(capsys.readouterr().out)
    assert (report["competition_id"], report["valid_submission"]) == (TASK, True)
    assert (report["score"], report["reason"]) == (1.09861, "")
    link = tmp_path / "link.csv"
    link.symlink_to(sample())
    main(["grade-sample", str(link), TASK])
    report = json.loads(capsys.readouterr().out)
    assert (report["submission_exists"], report["valid_submission"]) == (True, False)
    assert "symbolic link" in report["reason"]
    main(["grade-sample", str(tmp_path / "missing.csv"), TASK])
    report = json.loads(capsys.readouterr().out)
    assert (report["submission_exists"], report["valid_submission"]) == (False, False)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["grade-sample", "x.csv", "no-such-task"], "no-such-task"),
        (["grade-sample", "x" * 300, TASK], "too long"),
        (["grade", "--submission", "x.jsonl", "--output-dir", "out"], "x.jsonl cannot be read"),
        (["grade", "--submission", "bad.jsonl", "--output-dir", "out"], "line 2 of bad.jsonl"),
        (["grade", "--submission", "good.jsonl", "--output-dir", "bad.jsonl"], "output_dir="),
    ],
)
def test_errors_are_one_line(
    arguments: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_submissions(Path("good.jsonl"), [Submission(TASK, None)])
    Path("bad.jsonl").write_text("# first\nnothing\n")
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert message in str(stopped.value)
    assert "\n" not in str(stopped.value)
