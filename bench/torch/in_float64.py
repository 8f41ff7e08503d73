"""
The work that numbers.ts gave to both engines, in float64 by transformers' own attention and autograd, and how far each
engine is from it: in_float64.py GIVEN. An adapter is added to the weights, so nothing of the engine computes here but the
loss of a token.
"""

import json
import math
import sys
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import load_file
from torch import Tensor
from transformers import AutoModelForCausalLM

from troupe_torch.losses import entropy_bonus, terms_of

given = json.loads(Path(sys.argv[1]).read_text())
place, adapter, adam = Path(given["place"]), given.get("adapter"), given["adam"]
torch.set_num_threads(2)
model = AutoModelForCausalLM.from_pretrained(given["model"], dtype=torch.float64, attn_implementation="eager")
model.requires_grad_(False)
stem = "model" if adapter is None else "adapter_model"
stored = load_file(Path(given["start"]) / f"{stem}.safetensors")
trained = {name: each.double().requires_grad_() for name, each in stored.items()}


def weights() -> dict[str, Tensor]:
    if adapter is None:
        return trained
    merged = {}
    for name, a in trained.items():
        if ".lora_A." in name:
            own = name.removeprefix("base_model.model.").replace(".lora_A", "")
            b = trained[name.replace("lora_A", "lora_B")]
            merged[own] = model.get_parameter(own) + b @ a * (adapter["alpha"] / adapter["rank"])
    return merged


def outputs() -> tuple[Tensor, Tensor]:
    """Log-probabilities and entropies of all continuations, one after the other."""
    held, logprobs, entropies = weights(), [], []
    for datum in given["data"]:
        for each in datum["continuations"]:
            tokens = torch.tensor(datum["prompt"] + [int(token) for token in each["tokens"]])
            found = torch.func.functional_call(model, held, (tokens[None],), {"use_cache": False}, tie_weights=True)
            scores = found.logits[0, len(datum["prompt"]) - 1 : -1].log_softmax(-1)
            logprobs.append(scores.gather(1, tokens[len(datum["prompt"]) :, None])[:, 0])
            entropies.append(-(scores.exp() * scores).sum(-1))
    return torch.cat(logprobs), torch.cat(entropies)


continuations = [each for datum in given["data"] for each in datum["continuations"]]
used = ("weights", "advantages", "logprobs", "reference", "penalties")
numbers = {name: torch.tensor([value for each in continuations for value in each[name]]).double() for name in used}
owners = torch.repeat_interleave(torch.tensor([len(each["tokens"]) for each in continuations]))


def gradients() -> dict[str, Tensor]:
    logprobs, entropies = outputs()
    terms = terms_of(given["loss"], numbers, logprobs.detach(), entropies.detach(), owners)
    bonus = entropy_bonus(given["loss"], numbers, logprobs.detach())
    total = (logprobs * terms.slope).sum() - (entropies * bonus).sum()
    return dict(zip(trained, torch.autograd.grad(total, list(trained.values()))))


def step(moments: dict[str, list[Tensor]], number: int, found: dict[str, Tensor]) -> None:
    norm = math.sqrt(sum(each.square().sum().item() for each in found.values()))
    clip = adam["clipNorm"] / (norm + 1e-6) if norm > adam["clipNorm"] else 1.0
    with torch.no_grad():
        for name, weight in trained.items():
            mean, square = moments[name]
            gradient = found[name] * clip
            mean.mul_(adam["beta1"]).add_(gradient, alpha=1 - adam["beta1"])
            square.mul_(adam["beta2"]).addcmul_(gradient, gradient, value=1 - adam["beta2"])
            root = (square / (1 - adam["beta2"] ** number)).sqrt() + adam["epsilon"]
            change = mean / (1 - adam["beta1"] ** number) / root + adam["weightDecay"] * weight
            weight.sub_(adam["learningRate"] * change)


def read(side: str, kind: str) -> dict[str, Tensor]:
    found = {name: np.fromfile(place / side / kind / name, "<f4") for name in trained}
    return {name: torch.from_numpy(each).double().view(trained[name].shape) for name, each in found.items()}


def gradients_apart(one: dict[str, Tensor], other: dict[str, Tensor]) -> tuple[float, str]:
    """Of each tensor's largest, or a thousandth of the policy's largest."""
    floor = max(each.abs().max().item() for each in other.values()) / 1000
    largest = {name: max(each.abs().max().item(), floor) for name, each in other.items()}
    return max(((one[name] - each).abs().max().item() / largest[name], name) for name, each in other.items())


def weights_apart(one: dict[str, Tensor], other: dict[str, Tensor]) -> tuple[float, str]:
    """The length of the difference, relative to the tensor's."""
    return max((((one[name] - each).norm() / each.norm()).item(), name) for name, each in other.items())


first = gradients()
begun = {name: each.detach().clone() for name, each in trained.items()}
moments = {name: [torch.zeros_like(each), torch.zeros_like(each)] for name, each in trained.items()}
for number in range(1, given["steps"] + 1):
    step(moments, number, first if number == 1 else gradients())
last = {name: each.detach() for name, each in trained.items()}
sides = {side: (read(side, "gradient"), read(side, "weight")) for side in ("local", "torch")}
print(f"{given['kind']}, {given['name']}: the weights moved by {weights_apart(begun, last)[0]:.1e}")
for side, (gradient, weight) in sides.items():
    for what, (found, name) in (("gradients", gradients_apart(gradient, first)), ("weights", weights_apart(weight, last))):
        print(f"  {side} and float64: {what} {found:.1e} ({name})")
for what, (found, name) in (
    ("gradients", gradients_apart(sides["torch"][0], sides["local"][0])),
    ("weights", weights_apart(sides["torch"][1], sides["local"][1])),
):
    print(f"  local and torch: {what} {found:.1e} ({name})", flush=True)
