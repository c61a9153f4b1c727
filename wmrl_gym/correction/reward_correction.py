"""The method as one object: anchors, debiasing and denoising together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from wmrl_gym.correction.advantages import group_advantages
from wmrl_gym.correction.allocation import AnchorAllocation
from wmrl_gym.correction.anchors import AnchorSampler
from wmrl_gym.correction.audit import AnchorAudit
from wmrl_gym.correction.budget import AnchorBudget
from wmrl_gym.correction.calibration_map import CalibrationMap
from wmrl_gym.correction.checks import (
    BoolArray,
    FloatArray,
    IntArray,
    as_groups,
    as_scores,
    require_same_length,
    require_within,
)
from wmrl_gym.correction.debiasing import IsotonicDebiaser
from wmrl_gym.correction.denoising import InverseVarianceWeighting
from wmrl_gym.correction.prediction_powered import loss_coefficients

Fusion = Literal["inverse_variance", "prediction_powered"]


class RewardCorrection:
    """Corrects the scores of a world model by a thin stream of real executions.

    In a batch: `select` says which groups are anchors; `transform` recasts the scores of
    the others; `weights` weighs the loss; and one `update` with the anchors' pairs closes
    the batch. The map and the weight change in `update` and nowhere else, so that a batch
    is treated as one; `version` tells apart what was scored before and after.

    Args:
        anchor_fraction: Share of the groups that are executed for real, in [0, 1]. With 0
            the raw world model remains, with 1 the plain algorithm.
        seed: Seed of the anchor draw.
        bounds: Lowest and highest score of an episode.
        min_pairs: Pairs before the map replaces the identity; see `IsotonicDebiaser`.
        max_pairs: Pairs that the map is fitted to, the latest; see `IsotonicDebiaser`.
        warmup_groups: Anchor groups in the weight's warm-up; see `InverseVarianceWeighting`.
        max_weight: Largest weight of an anchor; see `InverseVarianceWeighting`.
        exponent: Power of the weight rule, 1 in the paper; see `InverseVarianceWeighting`.
        debias: Whether to fit the map; without it predictions are only clipped.
        denoise: Whether to weigh anchors; without it their weight is 1.
        fusion: "inverse_variance" is the paper's rule; "prediction_powered" lets the anchors
            correct the mean of the model's stream too, at more variance; see
            `prediction_powered`.
        max_anchor_fraction: Share of anchors where the world model's ranking is worth nothing;
            the share follows the audit from `anchor_fraction` up. `None` keeps it fixed. See
            `AnchorBudget`.
        allocate: Whether tasks that are predicted badly get more of the anchors; needs
            "prediction_powered", which undoes by the inverse probabilities what that would
            do to the gradient. See `AnchorAllocation`.

    Raises:
        ValueError: If an argument is out of range; the message names it.

    Examples:
        >>> correction = RewardCorrection(anchor_fraction=0.5, min_pairs=2, seed=0)
        >>> correction.update(predicted=[0.2, 0.8], true=[0.1, 0.3], groups=[4, 4])
        >>> correction.transform([0.5]).round(3), correction.version
        (array([0.2]), 1)
    """

    def __init__(
        self,
        *,
        anchor_fraction: float = 0.1,
        seed: int = 0,
        bounds: Sequence[float] = (0.0, 1.0),
        min_pairs: int = 40,
        max_pairs: int = 5000,
        warmup_groups: int = 8,
        max_weight: float = 4.0,
        exponent: float = 1.0,
        debias: bool = True,
        denoise: bool = True,
        fusion: Fusion = "inverse_variance",
        max_anchor_fraction: float | None = None,
        allocate: bool = False,
    ) -> None:
        if fusion not in ("inverse_variance", "prediction_powered"):
            raise ValueError(f"{fusion=} must be 'inverse_variance' or 'prediction_powered'")
        powered = fusion == "prediction_powered"
        if (powered or allocate) and not anchor_fraction > 0.0:
            raise ValueError(f"{fusion=} needs anchors: {anchor_fraction=} must be greater than 0")
        if allocate and not powered:
            raise ValueError(f"allocate=True needs fusion='prediction_powered', got {fusion!r}")
        self.sampler = AnchorSampler(fraction=anchor_fraction, seed=seed)
        maximum = anchor_fraction if max_anchor_fraction is None else max_anchor_fraction
        self.budget = AnchorBudget(fraction=anchor_fraction, maximum=maximum)
        self.allocation = AnchorAllocation(fraction=anchor_fraction) if allocate else None
        self.fusion = fusion
        self.power = 1.0
        """lambda of the prediction-powered fusion; see `tuned_power`."""
        self.debiaser = IsotonicDebiaser(bounds=bounds, min_pairs=min_pairs, max_pairs=max_pairs)
        self.weighting = InverseVarianceWeighting(
            warmup_groups=warmup_groups, max_weight=max_weight, exponent=exponent
        )
        self.audit = AnchorAudit()
        self._rank_correlation = np.nan
        self.debias = debias
        self.denoise = denoise
        self.version = 0
        """Version of the map and the weight together: how many updates brought pairs."""

    @property
    def bounds(self) -> tuple[float, float]:
        """Lowest and highest score of an episode."""
        return self.debiaser.bounds

    @property
    def map(self) -> CalibrationMap:
        """The current map. It never changes: keep it to score a group with one version (D11)."""
        return self.debiaser.map

    @property
    def calibrated(self) -> bool:
        """Whether the map stands on pairs; if not, it is the identity (D1)."""
        return self.map.calibrated

    @property
    def anchor_weight(self) -> float:
        """Weight of an anchor's loss against another's, before normalisation."""
        return self.weighting.anchor_weight if self.denoise else 1.0

    def share(self, stratum: str = "") -> float:
        """Return the probability that a group of `stratum` (its task) is an anchor now."""
        if self.allocation is None:
            return self.budget.at(self._rank_correlation)
        scale = self.budget.at(self._rank_correlation) / self.budget.fraction
        return min(1.0, scale * self.allocation.share(stratum))

    def is_anchor(self, group: int, stratum: str = "") -> bool:
        """Say whether `group`, of the task `stratum`, is executed for real."""
        if self.budget.fixed and self.allocation is None:
            return self.sampler.chooses(group)
        return bool(self.sampler.positions([group])[0] < self.share(stratum))

    def select(self, groups: npt.ArrayLike) -> BoolArray:
        """Say which of `[B]` groups are executed for real: `[B]` bool; see `AnchorSampler`."""
        if self.budget.fixed and self.allocation is None:
            return self.sampler.select(groups)
        return self.sampler.positions(groups) < self.share()

    def coefficients(self, *, anchor: bool, share: float) -> tuple[float, float]:
        """Return what an episode's two advantages count in the loss.

        Args:
            anchor: Whether its group is executed for real.
            share: Probability with which that was decided; 1 for a group that had to be.

        Returns:
            The coefficient of the advantage from the episode's score, and that from an anchor's
            calibrated prediction, which is 0 but for "prediction_powered".
        """
        if self.fusion == "inverse_variance":
            return (self.anchor_weight if anchor else 1.0), 0.0
        own, prediction = loss_coefficients([anchor], [share], power=self.power)
        return float(own[0]), float(prediction[0])

    def transform(self, predicted: npt.ArrayLike) -> FloatArray:
        """Recast `[N]` predicted scores with the current map; see `CalibrationMap`."""
        return self.map(predicted)

    def weights(self, groups: npt.ArrayLike) -> FloatArray:
        """Return the loss weight of each episode.

        Args:
            groups: `[B]` int, group ids.

        Returns:
            `[B]` float64: `anchor_weight` for members of anchor groups, 1 for others. They
            multiply the loss after the advantages are normalised, never the score (D15),
            and after `normalized_weights`, which keeps the step size (D14).
        """
        return np.where(self.select(groups), self.anchor_weight, 1.0)

    def update(
        self,
        predicted: npt.ArrayLike,
        true: npt.ArrayLike,
        groups: npt.ArrayLike,
        strata: Sequence[str] | None = None,
    ) -> None:
        """Learn from the anchors of a batch. Call it once, after the batch.

        The residual is measured first, with the map from before these pairs: on its own pairs
        a map looks better than it is (D5). It counts for the weight only if that map was
        calibrated, or s_0 would be the residual of raw scores (D2); without debiasing there
        is no map to wait for.

        Give the arguments by name: predicted and true scores look alike, and swapped they fit
        the inverse map without any sign of it.

        Args:
            predicted: `[N]` scores of the world model; NaN where it gave none.
            true: `[N]` scores of the real executions of the same episodes; NaN where there is
                none. Episodes without both make no pair and change nothing (D9).
            groups: `[N]` int, group ids.
            strata: `[N]` tasks, for `allocate=True`.

        Raises:
            ValueError: If the lengths differ, a true score is out of bounds, or `groups` are
                not integers >= 0. Nothing has changed then.
        """
        predicted, true = as_scores("predicted", predicted), as_scores("true", true)
        groups = as_groups("groups", groups)
        require_same_length(predicted=predicted, true=true, groups=groups)
        require_within("true", true, self.bounds)
        paired = ~(np.isnan(predicted) | np.isnan(true))
        if not paired.any():
            return
        predicted, true, groups = predicted[paired], true[paired], groups[paired]
        if strata is not None:
            strata = [name for name, kept in zip(strata, paired, strict=True) if kept]

        calibrated = self.map(predicted)
        if self.calibrated or not self.debias:
            self.weighting.update(calibrated, true, groups)
        self.audit.record(np.clip(predicted, *self.bounds), calibrated, true, groups)
        self._follow_audit(calibrated - true, groups, strata)
        if self.debias:
            self.debiaser.partial_fit(predicted, true)
        self.version += 1

    def diagnostics(self) -> dict[str, float]:
        """Return what to log, by name; NaN where there is nothing yet.

        Reasons to raise the anchor share (D20): `rank_correlation` (within groups, latest
        anchors) falls, for no map mends an order; `flatness` nears 1, for then the map leaves
        no signal; `weight_saturated` is 1; `usable_anchor_groups` lags behind `anchor_groups`.
        `bias_reduction` and `residual` are honest: measured before the pairs were fitted.
        """
        return {
            "pairs": float(self.debiaser.pairs),
            "calibrated": float(self.calibrated),
            "version": float(self.version),
            "residual": self.weighting.residual,
            "reference_residual": self.weighting.reference_residual,
            "anchor_weight": self.anchor_weight,
            "weight_saturated": float(self.anchor_weight >= self.weighting.max_weight),
            "flatness": self.map.flatness,
            "anchor_share": self.share(),
            "power": self.power,
            **self.audit.figures(),
        }

    def state_dict(self) -> dict[str, Any]:
        """Return everything a resumed run needs, as plain lists and numbers (D22).

        The anchor draw has no state: the same seed and fraction give the same anchors.
        """
        return {
            "version": self.version,
            "debiaser": self.debiaser.state_dict(),
            "weighting": self.weighting.state_dict(),
            "audit": self.audit.state_dict(),
            "allocation": None if self.allocation is None else self.allocation.state_dict(),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a `state_dict()`; no warm-up is repeated.

        Raises:
            ValueError: If it was saved with other bounds.
        """
        self.debiaser.load_state_dict(state["debiaser"])
        self.weighting.load_state_dict(state["weighting"])
        self.audit.load_state_dict(state["audit"])
        if self.allocation is not None and state["allocation"] is not None:
            self.allocation.load_state_dict(state["allocation"])
        self._read_audit()
        self.version = state["version"]

    def _follow_audit(
        self, errors: FloatArray, groups: IntArray, strata: Sequence[str] | None
    ) -> None:
        if self.allocation is not None and strata is not None:
            centred = group_advantages(errors, groups, normalize="center")
            self.allocation.update(centred, list(strata))
        self._read_audit()

    def _read_audit(self) -> None:
        """Set the budget and lambda by the latest anchors; both stay until the next update."""
        self._rank_correlation = self.audit.rank_correlation
        if self.fusion == "prediction_powered":
            self.power = self.audit.tuned_power()
