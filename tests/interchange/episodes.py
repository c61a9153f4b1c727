"""What the tests of this room play."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

WINE = "wine-cultivar"
SCRIPT = """\
execute_code
```python
import pandas as pd
sample = pd.read_csv("../input/sample_submission.csv")
sample.to_csv("submission.csv", index=False)
print("left it")
```
"""
"""A valid submission without knowledge."""


def refuse(constant: str) -> Any:
    raise AssertionError(f"{constant} is no JSON")


def strict_lines(path: Path) -> list[dict[str, Any]]:
    """The lines of a file, by a parser that takes neither NaN nor infinities."""
    return [json.loads(line, parse_constant=refuse) for line in path.read_bytes().splitlines()]
