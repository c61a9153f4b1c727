"""The method: anchors, debiasing, denoising. Arrays in, arrays out.

It follows "Scaling Automatic Research Agents via World Models" (arXiv 2608.12564). A world
model's score is the true one plus a bias and noise. A few groups, the anchors, are graded
by both; a monotone map fitted to their pairs removes the bias (`IsotonicDebiaser`), and
their weight in the gradient answers the noise (`InverseVarianceWeighting`).
`RewardCorrection` is the three together, and all that most users need.

The paper leaves decisions to whoever implements it. They are tagged D1 to D22 in the code:

    ===  ==============================  ====================================================
    D1   before there are enough pairs   identity, and `calibrated` says so
    D2   order of the two warm-ups       the weight's starts once the map is calibrated
    D3   which feedback an episode saw   `info["wmrl/source"]`
    D4   estimator of s_0                plain mean over the warm-up's groups
    D5   leakage                         residuals come from the map before the pairs
    D6   residual                        mean squared difference; groups without pairs skipped
    D7   scale of the map                `normalize="center"` lets it count
    D8   ties                            linear between steps, tilt, `eps`; degenerate counted
    D9   failures                        ours have no score: out of advantages, pairs, residuals
    D10  one map or one per task         one; figures are within groups
    D11  drift                           the latest `max_pairs`; maps are immutable, versioned
    D12  score bounds                    explicit; scores outside are clipped
    D13  bin edges                       no bins
    D14  clip and step size              weight in [1, 4]; `normalized_weights` have mean 1
    D15  where the weight goes           agents: on the loss, after normalising advantages
    D16  PPO                             agents: an episode is a group of one
    D17  identity of a group             `reset(options={"group": g})`, or counted
    D18  choice of anchors               stratified random draw by id, exact in each block
    D19  step rewards                    an episode's score is the maximum over its executions;
                                         step rewards are its increments
    D20  alarms                          `RewardCorrection.diagnostics`
    D21  kappa                           1 / s_0; `exponent` 1, 1/2 or 0
    D22  state                           `state_dict`; the anchor draw needs none
    ===  ==============================  ====================================================
"""

from wmrl_gym.correction.advantages import (
    degenerate_groups,
    group_advantages,
    normalized_weights,
)
from wmrl_gym.correction.anchors import AnchorSampler
from wmrl_gym.correction.calibration_map import CalibrationMap
from wmrl_gym.correction.debiasing import IsotonicDebiaser
from wmrl_gym.correction.denoising import InverseVarianceWeighting
from wmrl_gym.correction.diagnostics import bias_reduction, rank_correlation
from wmrl_gym.correction.fusion import excess_variance, fuse_gradients, optimal_weight
from wmrl_gym.correction.reward_correction import RewardCorrection

__all__ = [
    "AnchorSampler",
    "CalibrationMap",
    "InverseVarianceWeighting",
    "IsotonicDebiaser",
    "RewardCorrection",
    "bias_reduction",
    "degenerate_groups",
    "excess_variance",
    "fuse_gradients",
    "group_advantages",
    "normalized_weights",
    "optimal_weight",
    "rank_correlation",
]
