"""Writes the choices of a pipeline as the script that a practitioner would hand in.

The text is a pure function of the choices and the task: it has fixed random states, one
thread, and only the lines that the choices need. Whether it runs is another matter, as it
is for any script: a linear model on missing values fails, and so it should.
"""

from __future__ import annotations

import json
import textwrap
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import pandas as pd

from wmrl_gym.envs.mle.grading.guest.metrics import METRICS
from wmrl_gym.envs.mle.pipeline_space import (
    CAPACITIES,
    FAMILIES,
    REGULARISATIONS,
    Estimator,
    Family,
)
from wmrl_gym.envs.mle.table_task import TableTask

_LINE = 88
_SCORING = {
    "roc_auc": "roc_auc",
    "bits": "accuracy",  # the log loss fails where a fold lacks a rare character
    "log_loss": "neg_log_loss",
    "accuracy": "accuracy",
    "macro_f1": "f1_macro",
    "rmse": "neg_root_mean_squared_error",
    "mae": "neg_mean_absolute_error",
}


def render(choices: Mapping[str, str], task: TableTask) -> str:
    """Write the script.

    Args:
        choices: The option by dimension, as `pipeline_space.describe` gives it.
        task: The task that the script is for; only its public side is used.

    Returns:
        A Python program that reads `../input`, fits the pipeline and writes `submission.csv`.
    """
    return _Script(choices, task).text()


def has_pipelines(task: TableTask) -> bool:
    """Whether scripts can be written for this kind of task: a table with one target."""
    return task.kind in ("binary", "multiclass", "regression") and len(task.targets) == 1


@lru_cache(maxsize=256)
def _text_columns(task: TableTask) -> tuple[str, ...]:
    """The feature columns that are not numbers."""
    train = pd.read_csv(task.public / "train.csv").drop(columns=[task.id_column, task.target])
    return tuple(train.select_dtypes(exclude="number").columns)


def _literal(value: Any) -> str:
    """The source of a value, strings in double quotes."""
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, list):
        return f"[{', '.join(map(_literal, value))}]"
    return repr(value)


def _call(name: str, *arguments: str, **keywords: Any) -> str:
    """The source of a call; positional arguments are source, keyword values are values."""
    parts = [*arguments, *(f"{key}={_literal(value)}" for key, value in keywords.items())]
    line = f"{name}({', '.join(parts)})"
    return line if len(line) <= _LINE else _block(name, parts)


def _block(name: str, parts: list[str]) -> str:
    """The source of a call with one argument a line."""
    return "\n".join([f"{name}(", *(_indent(f"{part},") for part in parts), ")"])


def _indent(source: str) -> str:
    return textwrap.indent(source, "    ")


class _Script:
    """One script being written; collects the imports that its lines need."""

    def __init__(self, choices: Mapping[str, str], task: TableTask) -> None:
        self.choices = choices
        self.task = task
        self.family: Family = FAMILIES[choices["model"]]
        self.classifies = task.kind != "regression"
        self.estimator: Estimator = (
            self.family.classifier if self.classifies else self.family.regressor
        )
        self.imported: set[tuple[str, str]] = set()
        self.plain_imports = {"import pandas as pd"}

    def text(self) -> str:
        parts = [self.data(), self.model(), self.submission()]
        if ("sklearn.preprocessing", "TargetEncoder") in self.imported:
            # Its argument random_state is deprecated from scikit-learn 1.9 on; without it the
            # encoder draws its folds from the global state.
            self.plain_imports.add("import numpy as np")
            parts.insert(0, "np.random.seed(0)")
        return "\n\n".join([self.imports(), *parts]) + "\n"

    def use(self, module: str, name: str) -> str:
        """Import `name` and return it."""
        self.imported.add((module, name))
        return name

    def imports(self) -> str:
        names: dict[str, list[str]] = {}
        for module, name in sorted(self.imported):
            names.setdefault(module, []).append(name)
        lines = [f"from {module} import {', '.join(of)}" for module, of in names.items()]
        return "\n".join([*sorted(self.plain_imports), *lines])

    # --- data ---

    def data(self) -> str:
        task = self.task
        unused = [task.id_column, *self.dates, task.target]
        lines = [
            'train = pd.read_csv("../input/train.csv")',
            'test = pd.read_csv("../input/test.csv")',
            *self.calendar(),
            *self.resampling(),
            f"X = train.drop(columns={_literal(unused)})",
            f"y = train[{_literal(task.target)}]",
            *self.column_choice(),
            "X_test = test[X.columns]",
        ]
        return "\n".join(lines)

    @property
    def dates(self) -> list[str]:
        """The time column, if it has to be parsed."""
        column = self.task.time_column
        return [column] if column in _text_columns(self.task) else []

    def calendar(self) -> list[str]:
        """Numbers in the place of a date, of which no two rows share a value."""
        if not self.dates:
            return []
        return [
            "for frame in (train, test):",
            f"    date = pd.to_datetime(frame[{_literal(self.task.time_column)}])",
            '    frame["year"] = date.dt.year',
            '    frame["day_of_year"] = date.dt.dayofyear',
        ]

    def resampling(self) -> list[str]:
        """Rare classes drawn as often as the largest, for models without class weights."""
        if not self.weighs_classes or self.family.class_weight:
            return []
        groups = f"train.groupby({_literal(self.task.target)})"
        return [
            f"largest = {groups}.size().max()",
            f"train = {groups}.sample(largest, replace=True, random_state=0)",
        ]

    def column_choice(self) -> list[str]:
        lines = []
        if self.choices["encoding"] == "drop":
            lines.append('X = X.select_dtypes("number")')
        if self.choices["imputation"] == "drop_columns":
            lines.append('X = X.dropna(axis="columns")')
        if self.encodes:
            lines.append('text = X.select_dtypes(exclude="number").columns')
        return lines

    @property
    def weighs_classes(self) -> bool:
        return self.classifies and self.choices["target"] == "adjusted"

    # --- model ---

    def model(self) -> str:
        if self.choices["validation"] == "none":
            return f"model = {self.pipeline(repr(self.strengths()[1]))}\nmodel.fit(X, y)"
        parameter = self.estimator.strength
        validate = self.use("sklearn.model_selection", "cross_val_score")
        validated = f"{validate}(build({parameter}), X, y, cv=folds, scoring=scoring).mean()"
        return "\n".join(
            [
                *self.error_function(),
                f"\ndef build({parameter}):",
                _indent(f"return {self.pipeline(parameter)}"),
                f"\n\nfolds = {self.folds()}",
                f"scoring = {self.scoring()}",
                "scores = {",
                f"    {parameter}: {validated}",
                f"    for {parameter} in {self.strengths()!r}",
                "}",
                "print(pd.Series(scores))",
                "model = build(max(scores, key=scores.get))",
                "model.fit(X, y)",
            ]
        )

    def strengths(self) -> tuple[float, ...]:
        """The chosen strength in the middle, its neighbours around it."""
        chosen = REGULARISATIONS.index(self.choices["regularisation"])
        return self.estimator.strengths[chosen : chosen + 3]

    def folds(self) -> str:
        if self.choices["validation"] == "cross_validation":
            return "5"
        splitter = self.use("sklearn.model_selection", "ShuffleSplit")
        return _call(splitter, n_splits=1, test_size=0.25, random_state=0)

    def error_function(self) -> list[str]:
        """A metric whose scorer in scikit-learn fails on the first negative prediction."""
        if self.task.metric != "rmsle":
            return []
        self.plain_imports.add("import numpy as np")
        return [
            "\ndef squared_log_error(y, predicted):",
            "    return np.mean((np.log1p(y) - np.log1p(np.clip(predicted, 0, None))) ** 2)\n",
        ]

    def scoring(self) -> str:
        metric = self.task.metric
        if metric in _SCORING:
            return _literal(_SCORING[metric])
        make_scorer = self.use("sklearn.metrics", "make_scorer")
        if metric == "average_precision":
            return self.precision(make_scorer)
        if metric == "rmsle":
            return _call(make_scorer, "squared_log_error", greater_is_better=False)
        kappa = self.use("sklearn.metrics", "cohen_kappa_score")
        return _call(make_scorer, kappa, weights="quadratic")

    def precision(self, make_scorer: str) -> str:
        """Average precision; scikit-learn's own scorer takes labels of 0 and 1 only."""
        label = self.task.classes[-1]
        positive = int(label) if label.lstrip("-").isdecimal() else label  # as pandas reads it
        average_precision = self.use("sklearn.metrics", "average_precision_score")
        options = {"response_method": "predict_proba", "pos_label": positive}
        return _call(make_scorer, average_precision, **options)

    def pipeline(self, strength: str) -> str:
        steps = [
            *self.encoding(),
            *self.imputation(),
            *self.scaling(),
            *self.expansion(),
            *self.splines(),
            self.final(strength),
        ]
        return _block(self.use("sklearn.pipeline", "make_pipeline"), steps)

    @property
    def encodes(self) -> bool:
        """Whether there are text columns to encode."""
        text = set(_text_columns(self.task)) - set(self.dates)
        return bool(text) and self.choices["encoding"] != "drop"

    def encoding(self) -> list[str]:
        if not self.encodes:
            return []
        transformer = self.use("sklearn.compose", "make_column_transformer")
        return [_block(transformer, [f"({self.encoder()}, text)", 'remainder="passthrough"'])]

    def encoder(self) -> str:
        encoding = self.choices["encoding"]
        module = "sklearn.preprocessing"
        if encoding == "ordinal":
            unknown = {"handle_unknown": "use_encoded_value", "unknown_value": -1}
            return _call(self.use(module, "OrdinalEncoder"), **unknown)
        if encoding == "one_hot":
            one_hot = {"handle_unknown": "ignore", "sparse_output": False}
            return _call(self.use(module, "OneHotEncoder"), **one_hot)
        target_type = {"binary": "binary", "multiclass": "multiclass", "regression": "continuous"}
        return _call(self.use(module, "TargetEncoder"), target_type=target_type[self.task.kind])

    def imputation(self) -> list[str]:
        imputation = self.choices["imputation"]
        if imputation in ("none", "drop_columns"):
            return []
        imputer = self.use("sklearn.impute", "SimpleImputer")
        if imputation == "median":
            return [_call(imputer, strategy="median")]
        return [_call(imputer, strategy="mean", add_indicator=True)]

    def scaling(self) -> list[str]:
        module = "sklearn.preprocessing"
        match self.choices["scaling"]:
            case "none":
                return []
            case "standard":
                return [_call(self.use(module, "StandardScaler"))]
            case "min_max":
                return [_call(self.use(module, "MinMaxScaler"))]
        quantile = self.use(module, "QuantileTransformer")
        return [_call(quantile, n_quantiles=100, output_distribution="normal", random_state=0)]

    def expansion(self) -> list[str]:
        match self.choices["expansion"]:
            case "none":
                return []
            case "polynomial":
                polynomial = self.use("sklearn.preprocessing", "PolynomialFeatures")
                return [_call(polynomial, degree=2, include_bias=False)]
            case "pca":
                pca = self.use("sklearn.decomposition", "PCA")
                return [_call(pca, n_components=6, random_state=0)]
        module = "sklearn.feature_selection"
        test = self.use(module, "f_classif" if self.classifies else "f_regression")
        return [_call(self.use(module, "SelectKBest"), test, k=6)]

    @property
    def level(self) -> int:
        return CAPACITIES.index(self.choices["capacity"])

    def splines(self) -> list[str]:
        if self.family.knots is None or not self.family.knots[self.level]:
            return []
        spline = self.use("sklearn.preprocessing", "SplineTransformer")
        return [_call(spline, n_knots=self.family.knots[self.level])]

    def final(self, strength: str) -> str:
        """The estimator with what is wrapped around it."""
        source = self.bare(strength)
        if self.family.members and self.family.members[self.level] > 1:
            bagging = self.use(
                "sklearn.ensemble", f"Bagging{'Classifier' if self.classifies else 'Regressor'}"
            )
            members = {"n_estimators": self.family.members[self.level], "max_features": 0.5}
            source = _call(bagging, source, **members, bootstrap=False, random_state=0)
        if self.needs_probabilities and not self.family.probabilities:
            calibrated = self.use("sklearn.calibration", "CalibratedClassifierCV")
            source = _call(calibrated, source, ensemble=False)
        if not self.classifies and self.choices["target"] == "adjusted":
            self.plain_imports.add("import numpy as np")
            logged = self.use("sklearn.compose", "TransformedTargetRegressor")
            source = _call(logged, source, "func=np.log1p", "inverse_func=np.expm1")
        return source

    def bare(self, strength: str) -> str:
        estimator = self.estimator
        keywords = {**self.family.capacities[self.level], **estimator.fixed}
        if self.weighs_classes and self.family.class_weight:
            keywords["class_weight"] = "balanced"
        name = self.use(estimator.module, estimator.name)
        return _call(name, f"{estimator.strength}={strength}", **keywords)

    # --- submission ---

    @property
    def needs_probabilities(self) -> bool:
        return METRICS[self.task.metric].needs_probabilities

    def submission(self) -> str:
        return "\n".join(
            [
                'submission = pd.read_csv("../input/sample_submission.csv")',
                f"submission[{self.columns()}] = {self.prediction()}",
                'submission.to_csv("submission.csv", index=False)',
            ]
        )

    def columns(self) -> str:
        """Which columns of the submission are filled in."""
        if METRICS[self.task.metric].prediction == "probabilities":
            return "[str(label) for label in model.classes_]"
        return _literal(self.task.target)

    def prediction(self) -> str:
        match METRICS[self.task.metric].prediction:
            case "probabilities":
                return "model.predict_proba(X_test)"
            case "score":
                # scikit-learn has its columns in the order of the labels, which need not end
                # with the positive class.
                positive = sorted(self.task.classes).index(self.task.classes[-1])
                return f"model.predict_proba(X_test)[:, {positive}]"
        if self.task.metric == "rmsle":
            return "model.predict(X_test).clip(0)"
        return "model.predict(X_test)"
