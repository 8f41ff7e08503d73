"""The losses of src/engines/engine.ts per token, with their derivatives, in float64 on the processor; of many
continuations, one after the other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Mapping

import torch
from torch import Tensor

Numbers = Mapping[str, Tensor]


@dataclass(frozen=True)
class Terms:
    """Of each token; zero where it is not counted."""

    loss: Tensor
    slope: Tensor
    kl: Tensor
    reference_kl: Tensor
    clipped: Tensor
    counts: Tensor


def terms_of(
    loss: Mapping[str, Any], numbers: Numbers, outputs: Tensor, entropies: Tensor, owners: Tensor
) -> Terms:
    """@param outputs log-probabilities, or a critic's values; @param owners the number of each token's continuation"""
    counts = counts_of(numbers, outputs)
    zero = torch.zeros_like(outputs)
    none = zero.bool()
    if loss["type"] == "value":
        value, slope, clipped = _value(loss, numbers, outputs)
        found = Terms(value, slope, zero, zero, clipped, counts)
    elif loss["type"] == "cross_entropy":
        weights = numbers.get("weights", torch.ones_like(outputs))
        found = Terms(-weights * outputs, -weights, zero, zero, none, counts)
    else:
        found = _ratio_terms(loss, numbers, outputs, entropies, counts, owners)
    kept = {name: torch.where(counts, getattr(found, name), 0) for name in ("loss", "slope", "kl", "reference_kl")}
    return Terms(**kept, clipped=found.clipped & counts, counts=counts)


def counts_of(numbers: Numbers, like: Tensor) -> Tensor:
    """Which tokens are in sums."""
    return numbers["mask"] != 0 if "mask" in numbers else torch.ones_like(like, dtype=torch.bool)


def entropy_bonus(loss: Mapping[str, Any], numbers: Numbers, like: Tensor) -> Tensor:
    """The coefficient of each token's entropy."""
    weights = numbers.get("weights", torch.ones_like(like))
    counted = torch.where(numbers["mask"] != 0, weights, 0) if "mask" in numbers else weights
    return loss.get("entropy", 0) * counted


def _ratio_terms(
    loss: Mapping[str, Any], numbers: Numbers, outputs: Tensor, entropies: Tensor, counts: Tensor, owners: Tensor
) -> Terms:
    log_ratios = outputs - numbers["logprobs"]
    advantages = numbers["advantages"]
    whole = loss["type"] == "ppo" and loss.get("ratio") == "sequence"
    used = _means(log_ratios, counts, owners) if whole else log_ratios
    value, slope, clipped = _objective(loss, used, advantages, outputs)
    if whole:
        slope = _means(slope, counts, owners)
    reference_loss, reference_slope, reference_kl = _reference(loss, numbers, outputs)
    bonus = entropy_bonus(loss, numbers, outputs)
    return Terms(
        loss=value + reference_loss - bonus * entropies,
        slope=slope + reference_slope,
        kl=torch.expm1(log_ratios) - log_ratios,
        reference_kl=reference_kl,
        clipped=clipped,
        counts=counts,
    )


def _means(values: Tensor, counts: Tensor, owners: Tensor) -> Tensor:
    """For each token the mean of its continuation's counted ones."""
    sums = torch.zeros(int(owners[-1]) + 1, dtype=values.dtype)
    counted = sums.index_add(0, owners, counts.to(values.dtype)).clamp(min=1)
    return (sums.index_add(0, owners, torch.where(counts, values, 0)) / counted)[owners]


def _objective(
    loss: Mapping[str, Any], log_ratios: Tensor, advantages: Tensor, outputs: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    ratios = torch.exp(log_ratios)
    free = ratios * advantages
    if loss["type"] == "importance_sampling":
        return -free, -free, torch.zeros_like(free).bool()
    held = ratios.clamp(1 - loss["clipLow"], 1 + loss["clipHigh"])
    if loss["type"] == "cispo":
        return -held * advantages * outputs, -held * advantages, held != ratios
    objective = torch.minimum(free, held * advantages)
    dual = loss.get("dualClip", 0)
    if dual > 0:
        objective = torch.where(advantages < 0, torch.maximum(dual * advantages, objective), objective)
    clipped = objective != free
    return -objective, torch.where(clipped, 0, -free), clipped


def _reference(loss: Mapping[str, Any], numbers: Numbers, outputs: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    zero = torch.zeros_like(outputs)
    if "reference" not in numbers:
        return zero, zero, zero
    difference = outputs - numbers["reference"]
    kl, _ = _estimate("k3", difference)
    if loss.get("kl") is None:
        return zero, zero, kl
    value, slope = _estimate(loss["kl"], difference)
    return numbers["penalties"] * value, numbers["penalties"] * slope, kl


def _estimate(estimator: str, difference: Tensor) -> tuple[Tensor, Tensor]:
    """joschu.net/blog/kl-approx.html"""
    if estimator == "k1":
        return difference, torch.ones_like(difference)
    if estimator == "k2":
        return difference**2 / 2, difference
    held = difference.clamp(-10, 10)
    return torch.expm1(-held) + held, torch.where(held == difference, -torch.expm1(-held), 0)


def _value(loss: Mapping[str, Any], numbers: Numbers, values: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    weights = numbers.get("weights", torch.ones_like(values))
    error = values - numbers["targets"]
    held = error
    clip = loss.get("clip")
    if clip is not None:
        old = numbers["values"]
        held = torch.maximum(torch.minimum(values, old + clip), old - clip) - numbers["targets"]
    clipped = held**2 > error**2
    worst = torch.maximum(error**2, held**2)
    return 0.5 * weights * worst, torch.where(clipped, 0, weights * error), clipped
