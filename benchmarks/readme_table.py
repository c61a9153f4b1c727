"""The table of the README, from the results of the studies.

python benchmarks/readme_table.py            # print it
"""

from __future__ import annotations

from pathlib import Path

from wmrl_gym.benchmark.arms import REFERENCE
from wmrl_gym.benchmark.results import read_results
from wmrl_gym.benchmark.tables import compare

RESULTS = Path(__file__).parents[1] / "docs" / "results"
SCENARIOS = ("lenient", "hacked", "drifting")
ARMS = (REFERENCE, "model", "both", "features", "online")


def table() -> str:
    """True score, gain over every group executed, and executions of the arms that matter."""
    lines = ["| world model | arm | true score | against every group executed | real executions |"]
    lines.append("|---|---|---|---|---|")
    for scenario in SCENARIOS:
        results, _ = read_results(RESULTS / scenario)
        rows = {row.arm: row for row in compare(results, reference=REFERENCE)}
        for arm in ARMS:
            row = rows[arm]
            gain = row.gain
            against = (
                "" if gain is None else f"{gain.estimate:+.3f} [{gain.low:+.3f}, {gain.high:+.3f}]"
            )
            lines.append(
                f"| {scenario} | `{arm}` | {row.score} | {against} | "
                f"{row.executions.estimate:.0f} |"
            )
    return "\n".join(lines)


if __name__ == "__main__":
    print(table())
