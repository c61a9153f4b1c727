"""Comparing scripts side by side: who is asked what, and what is made of the answers."""

from __future__ import annotations

import logging
import math
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Literal

import pytest

from tests.world_models.language.canned_server import Response, canned, chat, served_model
from tests.world_models.language.scripts import bare, execution, good
from wmrl_gym.world_models import make_world_model
from wmrl_gym.world_models.language import LanguageWorldModel
from wmrl_gym.world_models.language.backends.server import ServerBackend
from wmrl_gym.world_models.language.backends.transformers import TransformersBackend

Judge = Callable[[list[int]], Mapping[str, float]]
"""From the numbers in the scripts that are shown to the probabilities of the letters."""
ASKED = "Which script scores best?"


@contextmanager
def comparing(
    judge: Judge, method: Literal["pairwise", "listwise"] = "pairwise", **options: Any
) -> Iterator[tuple[LanguageWorldModel, list[str]]]:
    """A model that compares so, and the prompts that it was asked."""
    asked: list[str] = []

    def respond(body: Mapping[str, Any]) -> Response:
        said = str(body["messages"])
        if ASKED not in said:
            return chat("7", {"7": 1.0} if body.get("logprobs") else None)
        asked.append(said)
        numbers = [int(number) for number in re.findall(r"value = (\d+)", said)]
        told = judge(numbers)
        return chat(max(told, key=lambda letter: told[letter]), told)

    with canned(served_model(respond)) as url:
        model = LanguageWorldModel(ServerBackend(url, deadline_s=20), rerank=method, **options)
        yield model, asked
        model.close()


def scripts(*numbers: int) -> list[Any]:
    return [bare(f"value = {number}\nprint(value)") for number in numbers]


def the_largest(numbers: list[int]) -> dict[str, float]:
    """Prefers larger numbers, and whatever stands first a little."""
    weights = [2.0**number * (1.5 if place == 0 else 1.0) for place, number in enumerate(numbers)]
    return {"ABCDEFGH"[i]: weight / sum(weights) for i, weight in enumerate(weights)}


@pytest.mark.parametrize(("method", "prompts"), [("pairwise", 12), ("listwise", 4)])
def test_the_order_is_the_judges(method: Literal["pairwise", "listwise"], prompts: int) -> None:
    with comparing(the_largest, method) as (model, asked):
        (preferred,) = model.rerank([scripts(2, 4, 1, 3)])
    assert len(asked) == prompts
    assert preferred is not None
    assert sorted(range(4), key=lambda i: preferred[i]) == [2, 0, 3, 1]


def test_pairs_are_asked_in_both_orders_by_hand() -> None:
    """A leans to what stands first: 0.7 to 0.3 whatever it is shown. That cancels."""
    with comparing(lambda numbers: {"A": 0.7, "B": 0.3}) as (model, asked):
        (preferred,) = model.rerank([scripts(1, 2)])
    assert preferred == pytest.approx([1.0, 1.0])
    shown = [re.findall(r"value = (\d)", one) for one in asked]
    assert sorted(shown) == [["1", "2"], ["2", "1"]]
    surer = {(2, 1): {"A": 0.9, "B": 0.1}, (1, 2): {"A": 0.5, "B": 0.5}}
    with comparing(lambda numbers: surer[numbers[0], numbers[1]]) as (model, _):
        (preferred,) = model.rerank([scripts(1, 2)])
    assert preferred == pytest.approx([2 * (0.1 + 0.5) / 2, 2 * (0.9 + 0.5) / 2])


def test_groups_are_compared_apart() -> None:
    with comparing(the_largest, "listwise") as (model, asked):
        groups = model.rerank([scripts(1, 2), scripts(5, 4, 3)])
    assert [len(group or ()) for group in groups] == [2, 3]
    assert {len(re.findall("# Script ", one)) for one in asked} == {2, 3}
    assert groups[0] is not None
    assert groups[0][1] > groups[0][0]


def test_what_is_certain_is_not_compared() -> None:
    with comparing(the_largest) as (model, asked):
        (preferred,) = model.rerank([[*scripts(1), bare("def f(:"), *scripts(2)]])
        (alone,) = model.rerank([[*scripts(1), bare("")]])
    assert len(asked) == 2
    assert preferred is not None
    assert math.isnan(preferred[1])
    assert preferred[2] > preferred[0]
    assert alone is not None
    assert all(map(math.isnan, alone))


def test_answers_that_are_none_do_not_count() -> None:
    with comparing(lambda numbers: {"A": 0.2, "B": 0.1, "the": 0.7}) as (model, _):
        (preferred,) = model.rerank([scripts(1, 2)])
    assert preferred is not None
    assert all(map(math.isnan, preferred))


def test_what_the_members_share_stands_before_the_scripts() -> None:
    """Of conversations that differ only the common beginning is shown, in whole lines."""
    group = [execution(good(n), context=f"Predict the cultivar.\nYou said {n}.") for n in (10, 20)]
    judge: Judge = lambda numbers: {"A": 0.6, "B": 0.4}  # noqa: E731  # shorter than a function
    with comparing(judge) as (model, asked):
        model.rerank([group])
    for one in asked:
        assert "Predict the cultivar." in one
        assert "You said" not in one
        assert one.index("Predict the cultivar.") < one.index("# Script A")


def test_too_many_scripts_are_left_alone(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    with comparing(the_largest, "listwise") as (model, asked):
        (many,) = model.rerank([scripts(*range(17))])
        long = [bare(f"value = {n}\n" + "print(value)\n" * 250) for n in range(3)]
        (large,) = model.rerank([long])
    assert asked == []
    for preferred in (many, large):
        assert preferred is not None
        assert all(map(math.isnan, preferred))
    assert "4 comparisons of scripts do not fit a prompt; rerank='pairwise'" in caplog.text


def test_nothing_is_compared_unless_one_asks_for_it() -> None:
    with comparing(the_largest) as (model, _):
        plain = LanguageWorldModel(model.backend)
        assert plain.rerank([scripts(1, 2)]) == [None]
        with pytest.raises(ValueError, match="rerank='best'"):
            LanguageWorldModel(model.backend, rerank="best")  # type: ignore[arg-type]  # on purpose


def test_it_is_asked_for_by_name() -> None:
    with canned(served_model(lambda body: chat("5", {"5": 1.0}))) as url:
        for name, mode in (
            (f"openai+listwise:{url}", "expected"),
            (f"openai+structured+pairwise:{url}", "structured"),
            (f"openai:{url}#canned+reason+listwise", "reason"),
        ):
            model = make_world_model(name)
            assert isinstance(model, LanguageWorldModel)
            assert model.mode == mode
            assert model._reranker is not None
            model.close()
        for wrong in ("openai+pairwise+listwise:", "openai+head+expected:"):
            with pytest.raises(ValueError, match="says the same thing in two ways"):
                make_world_model(wrong + url)


@pytest.mark.llm
@pytest.mark.parametrize("method", ["pairwise", "listwise"])
def test_a_real_model_compares(
    smollm2: TransformersBackend, method: Literal["pairwise", "listwise"]
) -> None:
    """What it says is worth little; that it says something about each is what counts here."""
    model = LanguageWorldModel(smollm2, rerank=method)
    group = [*scripts(1, 2, 3), bare("def f(:")]
    (preferred,) = model.rerank([group])
    assert preferred is not None
    assert [math.isnan(one) for one in preferred] == [False, False, False, True]
    # Of three or two at a time, chance is 1 and the most is their number.
    assert all(0 < one < 3 for one in preferred[:3])
    assert sum(preferred[:3]) == pytest.approx(3.0, abs=0.5)
