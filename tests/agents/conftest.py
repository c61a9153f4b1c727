from __future__ import annotations

import torch

# The networks are tiny: threads would cost more than they bring, and change nothing else.
torch.set_num_threads(1)
