from __future__ import annotations

from pathlib import Path

import pytest

from tests.report.runs import make_run
from wmrl_gym.cli import main


def test_report_of_a_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = make_run(tmp_path / "run", episodes=100)
    (run / "result.json").unlink()
    main(["report", str(run)])
    assert (run / "report.html").stat().st_size > 10_000
    printed = capsys.readouterr().out
    assert "result.json is missing" in printed
    assert f"wrote {run / 'report.html'}" in printed


def test_comparison_of_two(tmp_path: Path) -> None:
    runs = [str(make_run(tmp_path / name, episodes=100)) for name in ("a", "b")]
    main(["report", *runs, "--out", str(tmp_path / "both.html")])
    assert "a and b" in (tmp_path / "both.html").read_text()


def test_a_foreign_directory_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=r"no config\.json"):
        main(["report", str(tmp_path)])
