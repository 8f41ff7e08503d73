"""
Samples of a model as they are computed on a processor, and as on a GPU: several prompts together, attention in one kernel,
steps that are recorded. In the place of a graph is what it would do: the same work on tensors that must not have moved.

as_on_gpu.py MODEL prints JSON: the largest difference of a log-probability, the number of tokens and of different ones, of
prompts that were computed with others, and of steps that were repeated from a record; whether the same requests give the same
samples in the batches that were kept; and what two requests are told whose prompts find no memory.
"""

import json
import sys
from pathlib import Path

import numpy as np
import torch

from troupe_torch import attention, batch, sampler
from troupe_torch.adapters import add_adapter
from troupe_torch.model import Model
from troupe_torch.passes import Settings
from troupe_torch.policy import Policy
from troupe_torch.request import request_of

torch.manual_seed(1)
torch.set_num_threads(1)
model = Model(Path(sys.argv[1]), torch.float32, torch.device("cpu"), frozen=True)
policies = [Policy("base", model, {}, None, None)]
for name, targets in (("one", ["q_proj", "down_proj"]), ("other", ["q_proj", "o_proj", "up_proj"])):
    added = add_adapter(model.trunk, model.prefix, name, 2, 8, targets)
    for parameter in added.values():
        torch.nn.init.normal_(parameter, std=0.3)
    policies.append(Policy(name, model, added, name, None))

generator = np.random.default_rng(1)
headers = [
    {
        "id": at,
        "count": int(generator.integers(1, 4)),
        "maxTokens": int(generator.integers(1, 160)),
        "temperature": [0, 0.7, 1][at % 3],
        "topK": [0, 3, 0, 0][at % 4],
        "topP": [1, 1, 0.8][at % 3],
        "seed": at,
        "stopStrings": [],
    }
    for at in range(30)
]
lengths = generator.integers(1, 280, len(headers)).tolist()
prompts = [generator.integers(0, model.vocabulary, length).astype(np.int32) for length in lengths]


def sampled(held):
    """All requests at once. Their batches stay for the next ones."""
    found = {}
    for at, (header, prompt) in enumerate(zip(headers, prompts)):
        ends = {"answer": lambda sequences, at=at: found.update({at: sequences}), "fail": lambda error: sys.exit(str(error))}
        held.submit(request_of(policies[at % len(policies)], header, prompt, np.array([3], np.int32), **ends))
    while not held.idle:
        held.step()
    return [sequence for at in range(len(headers)) for sequence in found[at]]


together = repeated = 0


def places(step):
    caches = [step._rows._keys, step._rows._values]
    tensors = [*(each for cache in caches for each in cache.values()), step._inputs, step._drawn]
    return [each.data_ptr() for each in [*tensors, *model.whole.parameters()]]


def recorded(_, compute):
    step = compute.func.__self__
    before, results = places(step), tuple(each.clone() for each in compute())

    def replay():
        global repeated
        repeated += 1
        assert places(step) == before, "a graph would read where its tensors were"
        for held, own in zip(results, compute()):
            held.copy_(own)
        return results

    return replay


def started(self, requests, start=sampler.Sampler._start):
    global together
    together += len(requests) - 1
    return start(self, requests)


def new_sampler():
    return sampler.Sampler(Settings(4096, 256), 4, 4_000_000_000)


own = new_sampler()
expected = sampled(own)
for batches in own._batches.values():
    for each in batches:
        for cache in (each.rows._keys, each.rows._values):
            for tensor in cache.values():
                # As a policy that diverged leaves them.
                tensor.fill_(float("nan"))
kept = sum(len(batches) for batches in own._batches.values())
again = sampled(own)
same = all(one.tokens == other.tokens and one.logprobs == other.logprobs for one, other in zip(expected, again, strict=True))
own.keep([])
attention.attends_at_once = sampler.are_together = batch.is_recorded = lambda _: True
batch.recorded, sampler.Sampler._start = recorded, started
found = sampled(new_sampler())
pairs = [pair for one, other in zip(expected, found) for pair in zip(one.tokens, other.tokens, strict=True)]
differences = [abs(a - b) for one, other in zip(expected, found) for a, b in zip(one.logprobs, other.logprobs)]
different = sum(a != b for a, b in pairs)


def without_memory(*_):
    raise MemoryError


sampler.Sampler._start = without_memory
said = []
held = new_sampler()
for header, prompt in zip(headers[:2], prompts):
    held.submit(request_of(policies[0], header, prompt, np.array([3], np.int32), answer=sys.exit, fail=said.append))
held.step()

reused = {"kept": kept, "same": same, "left": len(own._batches)}
counts = {"tokens": len(pairs), "different": different, "together": together, "repeated": repeated}
print(json.dumps({"difference": max(differences), **counts, **reused, "said": [error.code for error in said], "idle": held.idle}))
