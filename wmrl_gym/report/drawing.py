"""matplotlib figures as SVG text that follows the page's colours, light or dark."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from wmrl_gym.errors import MissingDependencyError

try:
    import matplotlib as mpl
    from cycler import cycler
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
except ModuleNotFoundError as error:
    raise MissingDependencyError(
        'reports need matplotlib: pip install "wmrl-gym[report]"'
    ) from error

INK = "#010203"
"""Stands for the page's text colour; replaced by `currentColor`."""
FAINT = "#040506"
"""Stands for the colour of grids; replaced by a style variable."""
PALETTE = ("#3b82f6", "#f59e0b", "#10b981", "#ef4444", "#8b5cf6", "#ec4899", "#14b8a6", "#84cc16")
"""Readable on white and on near-black."""

_STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",  # text stays text: small, and it can be searched
    "svg.hashsalt": "wmrl-gym",  # equal runs give equal pages
    "font.family": "sans-serif",
    "font.size": 10,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": FAINT,
    "axes.titlesize": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": FAINT,
    "grid.linewidth": 0.5,
    "xtick.color": INK,
    "ytick.color": INK,
    "legend.frameon": False,
    "axes.prop_cycle": cycler(color=PALETTE),
}


class Panel:
    """One plot, and its SVG once the block is left."""

    def __init__(self, figure: Figure) -> None:
        self.axes: Axes = figure.subplots()
        self.svg = ""


@contextmanager
def panel(*, height: float = 2.8) -> Iterator[Panel]:
    """Draw one plot, 4.2 inches wide; `Panel.svg` is set when the block ends.

    Every plot is a drawing of its own, so that the page can set them side by side or, on a
    phone, one below the other.

    Args:
        height: In inches.
    """
    with mpl.rc_context(_STYLE):
        figure = Figure(figsize=(4.2, height), layout="constrained")
        drawn = Panel(figure)
        yield drawn
        drawn.svg = _to_svg(figure)


def _to_svg(figure: Figure) -> str:
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None})
    svg = buffer.getvalue()
    svg = svg[svg.index("<svg") :].replace(INK, "currentColor").replace(FAINT, "var(--faint)")
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    # The page gives the width; the box keeps the shape.
    return re.sub(r'(<svg [^>]*?)width="[^"]*" height="[^"]*"', r"\1", svg, count=1)
