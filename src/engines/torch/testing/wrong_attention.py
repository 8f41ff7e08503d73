"""Is a model rejected whose attention is computed wrongly?

    python wrong_attention.py MODEL

Prints as JSON, by precision and by what is ignored, why the model was rejected; null: it was not.
"""

import json
import sys
from pathlib import Path

import torch

from troupe_torch import attention
from troupe_torch.errors import EngineError
from troupe_torch.model import Model

Rule = attention.Rule
WRONG = {
    "nothing": Rule,
    "window": lambda scaling, window, softcap: Rule(scaling, None, softcap),
    "scaling": lambda scaling, window, softcap: Rule(1.05 * scaling, window, softcap),
    "bound": lambda scaling, window, softcap: Rule(scaling, window, None),
}


def rejected(model, dtype):
    try:
        Model(Path(model), dtype, torch.device("cpu"), frozen=True)
    except EngineError as error:
        return str(error)
    return None


found = {}
for dtype in (torch.float32, torch.bfloat16):
    for name, attention.Rule in WRONG.items():
        found[f"{str(dtype).removeprefix('torch.')}, {name}"] = rejected(sys.argv[1], dtype)
print(json.dumps(found))
