"""Views of one graded result: what each benchmark makes of a metric.

Every reward is a function of the metric and of named facts about the task, so that
`functools.partial` makes it a function of the metric alone:

Examples:
        >>> from functools import partial
        >>> reward = partial(position_score, private=[0.9, 0.8, 0.7, 0.6], higher_is_better=True)
        >>> reward(0.75), reward(None)
        (0.5, 0.0)

    | from | reward | range |
    |---|---|---|
    | MLE-bench | `medal_reward`: any medal, see `medal_thresholds` and `award` | 0 or 1 |
    | MLE-Dojo | `position_score`: share of teams not ahead, "HumanRank" | [0, 1] |
    | DSBench | `performance_gap`: part of the way from the baseline to the best | 0 and more |
    | SandMLE | `milestone_reward`, `sparse_milestone_reward` | [0, 1] |
    | AIRS-Bench | `normalised_score`: orders of magnitude to the optimum | any |
    | the paper (arXiv 2608.12564) | `ladder`: rungs for failures, then a position | [0, 1] |

    All but `ladder`, which takes a status and a position, share these conventions: the metric
    `None` says that the agent left no valid submission and has a reward of its own; NaN and
    infinity are refused; the direction is always stated. What *we* failed at has no metric and no
    reward: no view turns it into 0.

    `competition_report`, `AggregateReport` and `headline` are MLE-bench's reports;
    `relative_performance_gap` is DSBench's. `graded_performance_gap` and
    `graded_milestone_reward` take an imported task, which knows the facts, and a `Grade`.
"""

from wmrl_gym.envs.mle.ladder import ladder
from wmrl_gym.envs.mle.views.airs import normalised_score
from wmrl_gym.envs.mle.views.dsbench import performance_gap, relative_performance_gap
from wmrl_gym.envs.mle.views.graded import graded_milestone_reward, graded_performance_gap
from wmrl_gym.envs.mle.views.headline import Headline, headline
from wmrl_gym.envs.mle.views.medals import (
    Medals,
    MedalThresholds,
    award,
    medal_ranks,
    medal_reward,
    medal_thresholds,
)
from wmrl_gym.envs.mle.views.mle_bench import (
    AggregateReport,
    CompetitionReport,
    SubmissionProblem,
    competition_report,
)
from wmrl_gym.envs.mle.views.position import leaderboard_rank, position_score
from wmrl_gym.envs.mle.views.sandmle import milestone_reward, sparse_milestone_reward

__all__ = [
    "AggregateReport",
    "CompetitionReport",
    "Headline",
    "MedalThresholds",
    "Medals",
    "SubmissionProblem",
    "award",
    "competition_report",
    "graded_milestone_reward",
    "graded_performance_gap",
    "headline",
    "ladder",
    "leaderboard_rank",
    "medal_ranks",
    "medal_reward",
    "medal_thresholds",
    "milestone_reward",
    "normalised_score",
    "performance_gap",
    "position_score",
    "relative_performance_gap",
    "sparse_milestone_reward",
]
