"""Grades with code that another benchmark brings, as code that nobody trusts.

A submission is checked, its rows are put into the order of the answers, and the grader is
called on all rows, and on a public and a private part of them where rows can be told apart.

Whose fault it is if that code raises, or gives no finite number, is decided by a submission
that is known to be good, the answers themselves or the sample submission: if the same code
grades that one, it is the submission that is at fault.
"""

from __future__ import annotations

import importlib
import json
import warnings
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from wmrl_gym.envs.mle.grading.guest.form import Form, answers_as_submission, form_of
from wmrl_gym.envs.mle.grading.guest.frames import conform, read_submission, read_table
from wmrl_gym.envs.mle.grading.guest.parts import Metric, Part, blame, finite, public_rows
from wmrl_gym.envs.mle.grading.guest.values import InvalidSubmissionError, Values

METRICS_OF: Mapping[str, str] = MappingProxyType(
    {
        "mle-bench": "functions:MLEBenchFunction",
        "mle-dojo": "functions:MLEDojoClass",
        "dsbench": "programs:DSBenchProgram",
        "mlgym": "programs:MLGymProgram",
        "sandmle": "programs:SandMLEProgram",
        "metric": "by_name:NamedMetric",
    }
)
"""What calls the grader of a benchmark, made from the rules."""


def grade_foreign(rules: Mapping[str, Any], submission: Path) -> Values:
    """Grade a table.

    Args:
        rules: `caller`, a key of `METRICS_OF`; paths of the `answers`, the `sample` submission
            and a `gold` submission, or null; `subject`, which of `submission`, `sample`,
            `answers` and `shuffled` answers to grade; `split`, whether to grade parts; and what
            the caller needs.
        submission: The submitted file.

    Raises:
        InvalidSubmissionError: If the submission is at fault.
    """
    _be_like_pandas_2()
    grading = _Grading(rules, make_metric(rules["caller"], rules))
    subject = rules["subject"]
    frame = grading.submitted(submission) if subject == "submission" else grading.known(subject)
    try:
        return grading.values(frame)
    except InvalidSubmissionError:
        raise
    except Exception as error:
        if subject == "submission" and grading.works():
            raise InvalidSubmissionError(blame(error)) from error
        raise


def make_metric(caller: str, rules: Mapping[str, Any]) -> Metric:
    """What calls the grader."""
    module, name = METRICS_OF[caller].split(":")
    metric: Metric = getattr(importlib.import_module(f"{__package__}.{module}"), name)(rules)
    return metric


def load_answers(path: Path) -> Any:
    """Answers as their graders expect them: a table, or for JSON what it holds.

    Raises:
        ValueError: If files of that kind are not known.
    """
    if ".csv" in path.suffixes:
        return read_table(path)
    if path.suffix == ".jsonl":
        lines = path.read_text(encoding="utf-8").splitlines()
        return [json.loads(line) for line in lines if line.strip()]
    if path.suffix == ".json":
        return json.loads(path.read_text(encoding="utf-8"))
    raise ValueError(f"answers in a file {path.suffix!r} cannot be read")


class _Grading:
    """The files of a task and its metric."""

    def __init__(self, rules: Mapping[str, Any], metric: Metric) -> None:
        self._rules = rules
        self._metric = metric

    @cached_property
    def _answers(self) -> Any:
        path = self._rules["answers"]
        return None if path is None else load_answers(Path(path))

    @cached_property
    def _sample(self) -> pd.DataFrame | None:
        path = self._rules["sample"]
        return None if path is None else read_table(Path(path))

    @cached_property
    def _form(self) -> Form:
        return form_of(self._sample, self._answers)

    def submitted(self, path: Path) -> pd.DataFrame:
        return read_submission(path, self._form)

    def known(self, subject: str) -> pd.DataFrame:
        """A submission that is known: the `sample`, the `answers`, or these `shuffled`."""
        if subject == "answers":
            return self._perfect()
        if subject == "shuffled":
            return self._by_chance()
        if self._sample is None:
            raise ValueError("there is no sample submission")
        return read_submission(Path(self._rules["sample"]), self._form)

    def _perfect(self) -> pd.DataFrame:
        if self._rules["gold"] is not None:
            return read_submission(Path(self._rules["gold"]), self._form)
        frame = answers_as_submission(self._answers, self._form, self._sample)
        return conform(frame, self._form)

    def _by_chance(self) -> pd.DataFrame:
        """The answers, given to the wrong rows."""
        frame = self._perfect()
        names = [name for name in frame.columns if name != self._form.id_column]
        shuffled = frame[names].sample(frac=1, random_state=0).reset_index(drop=True)
        return frame.assign(**{name: shuffled[name] for name in names})

    def works(self) -> bool:
        """Whether the grader can grade any submission that is known to be good."""
        for subject in ("answers", "sample"):
            try:
                self.values(self.known(subject))
            except Exception:
                continue
            return True
        return False

    def values(self, frame: pd.DataFrame) -> Values:
        """The metric on all rows and, if they can be told apart, on the parts."""
        whole = finite(self._metric(Part(frame, self._answers)))
        public = self._public_rows()
        if public is None:
            return Values(private=whole, public=None, all=whole)
        return Values(
            private=self._part(frame, ~public), public=self._part(frame, public), all=whole
        )

    def _public_rows(self) -> NDArray[np.bool_] | None:
        """`[N]` which rows are public; `None` if there are no parts."""
        if not (self._rules["split"] and self._form.is_order_of_answers):
            return None
        public = public_rows(self._form.ids)
        return public if 0 < public.sum() < len(public) else None

    def _part(self, frame: pd.DataFrame, rows: NDArray[np.bool_]) -> float:
        def only(table: pd.DataFrame) -> pd.DataFrame:
            return table[rows].reset_index(drop=True)

        return finite(self._metric(Part(only(frame), only(self._answers), rows)))


def _be_like_pandas_2() -> None:
    """Graders of benchmarks compare the type of text columns with `object`, as it once was."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            pd.set_option("future.infer_string", False)
        except KeyError:  # a later pandas
            return
    # The option warns again at every table that is read.
    warnings.filterwarnings("ignore", message=".*infer_string.*")
