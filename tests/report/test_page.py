from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.report.browser import Page, chromium
from tests.report.runs import make_run
from wmrl_gym.report import read_run, write_report

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def page() -> Iterator[Page]:
    with chromium() as opened:
        yield opened


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of a run of 10,000 episodes."""
    directory = tmp_path_factory.mktemp("report")
    run = make_run(directory / "run", episodes=10_000, video="first.gif")
    (run / "first.gif").write_bytes(b"GIF89a\x01\x00\x01\x00\x00\xff\x00,\x00\x00;")
    write_report([read_run(run)], directory / "report.html")
    return directory / "report.html"


def test_ten_thousand_episodes_take_less_than_5_mb(report: Path) -> None:
    assert report.stat().st_size < 5_000_000


def test_nothing_is_loaded_from_elsewhere(report: Path) -> None:
    text = report.read_text(encoding="utf-8")
    assert not re.search(r'(src|href)\s*=\s*"(https?:)?//', text)
    assert "@import" not in text


def test_all_parts_are_there(page: Page, report: Path) -> None:
    page.open(report)
    page.wait_for("document.querySelectorAll('#episodes tbody tr').length === 25")
    headings = page.evaluate("[...document.querySelectorAll('h2')].map(h => h.textContent)")
    assert headings == [
        "Score",
        "True score by real executions",
        "Cost",
        "The correction over time",
        "Reliability",
        "Predicted against true, by task",
        "Episodes",
        "Settings",
        "Versions",
    ]
    assert page.evaluate("document.querySelectorAll('svg').length") == 2 + 4 + 1 + 3
    assert page.problems == []


def test_episodes_can_be_browsed(page: Page, report: Path) -> None:
    page.open(report)
    page.wait_for("document.querySelectorAll('#episodes tbody tr').length === 25")
    assert page.evaluate("document.getElementById('place').textContent") == "1–25 of 10000"
    page.evaluate("document.querySelector('#episodes tbody tr').click()")
    assert "fit(model_" in page.evaluate("document.querySelector('pre.artifact').textContent")
    assert page.evaluate("document.querySelector('#episodes img').src").startswith("data:image/gif")
    page.evaluate("document.getElementById('next').click()")
    assert page.evaluate("document.getElementById('place').textContent") == "26–50 of 10000"
    choose = "const s = document.getElementById('{}'); s.value = '{}'; s.onchange()"
    page.evaluate("{" + choose.format("source", "anchor") + "}")
    assert page.evaluate("document.getElementById('place').textContent") == "1–25 of 1000"
    page.evaluate("{" + choose.format("order", "error") + "}")
    cells = page.evaluate(
        "[...document.querySelectorAll('#episodes tbody tr')].map(r => r.cells[7].textContent)"
    )
    assert set(cells) == {"2.000"}


def test_names_are_text_not_markup(page: Page, report: Path) -> None:
    page.open(report)
    page.wait_for("document.querySelectorAll('#episodes tbody tr').length === 25")
    assert page.evaluate("[...document.getElementById('task').options].map(o => o.text)") == [
        "all",
        "<b>zinc</b>",
        "iron",
        "tin",
    ]
    assert page.evaluate("document.querySelectorAll('b').length") == 0


def test_it_fits_a_phone(page: Page, report: Path) -> None:
    page.open(report, width=390)
    page.wait_for("document.querySelectorAll('#episodes tbody tr').length === 25")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


@pytest.mark.parametrize("dark", [False, True])
def test_colours_follow_the_mode(page: Page, report: Path, dark: bool) -> None:
    page.open(report, dark=dark)
    paper, ink = (
        sum(map(int, re.findall(r"\d+", page.evaluate(expression))[:3])) / 3
        for expression in (
            "getComputedStyle(document.body).backgroundColor",
            "getComputedStyle(document.querySelector('svg text')).fill",
        )
    )
    assert (paper < 60 and ink > 200) if dark else (paper > 200 and ink < 60)


def test_runs_are_compared(page: Page, tmp_path: Path) -> None:
    runs = [read_run(make_run(tmp_path / name, episodes=200)) for name in ("one", "two")]
    write_report(runs, tmp_path / "new" / "comparison.html")
    page.open(tmp_path / "new" / "comparison.html")
    text = page.evaluate("document.body.innerText")
    assert "one and two" in text
    assert "Settings that differ" in text
    assert page.evaluate("document.getElementById('episodes')") is None
    assert page.problems == []


def test_a_run_without_world_model_has_a_page_too(page: Page, tmp_path: Path) -> None:
    path = make_run(tmp_path / "run")
    (path / "episodes.jsonl").unlink()
    write_report([read_run(path)], tmp_path / "report.html")
    page.open(tmp_path / "report.html")
    assert "recorded no episodes" in page.evaluate("document.body.innerText")


def test_equal_runs_give_equal_pages(tmp_path: Path) -> None:
    run = read_run(make_run(tmp_path / "run"))
    write_report([run], tmp_path / "one.html")
    write_report([run], tmp_path / "two.html")
    assert (tmp_path / "one.html").read_bytes() == (tmp_path / "two.html").read_bytes()


def test_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="empty"):
        write_report([], tmp_path / "report.html")
