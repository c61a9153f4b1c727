"""AutoResearch: machine-learning tasks with real data, graded on hidden answers."""
