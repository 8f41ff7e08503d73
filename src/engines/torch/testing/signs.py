"""Signs of life from within a pass with gradients, each of whose layers takes a second more.

    python signs.py MODEL SETTINGS

Prints as JSON: for each of the layers' seconds, forward and backward, how many signs came since the one before it, and how
many came in it.
"""

import json
import queue
import sys
import time

import numpy as np
import torch.nn.functional as F

from troupe_torch.worker import Worker

signs = []
layers = []
attention = F.scaled_dot_product_attention


def slow(query, *others, **more):
    if query.shape[2] > 100:
        before = len(signs)
        time.sleep(1.1)
        layers.append({"before": before - (layers[-1]["all"] if layers else 0), "during": len(signs) - before, "all": len(signs)})
    return attention(query, *others, **more)


class Heard:
    def write(self, header, arrays={}):
        if header["id"] == -1:
            signs.append(header)
        assert "error" not in header, header


def main(model, settings):
    F.scaled_dot_product_attention = slow
    worker = Worker(json.loads(settings), queue.Queue(), set(), Heard())
    policy = {"name": "p", "directory": model, "base": model, "adapter": None, "valueHead": False, "stored": False}
    worker._handle({"id": 1, "verb": "create", **policy}, {})
    signs.clear()
    arrays = {"tokens": [3] * 200, "policyOf": [0], "promptLengths": [199], "continuationCounts": [1], "continuationLengths": [1]}
    header = {"id": 2, "verb": "forwardBackward", "policies": ["p"], "loss": {"type": "cross_entropy"}}
    worker._handle(header, {name: np.array(values, np.int32) for name, values in arrays.items()})
    print(json.dumps(layers))


main(*sys.argv[1:])
