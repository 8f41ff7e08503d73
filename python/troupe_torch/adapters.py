"""LoRA adapters (arXiv:2106.09685) of several policies on the linear layers of one frozen model."""

from __future__ import annotations

from contextlib import contextmanager
from typing import Iterator, Mapping, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from .errors import EngineError

# The adapter of all tokens of a pass, or which rows each adapter has. A plain global: recomputed layers may run on another
# thread.
_active: str | Mapping[str, Tensor] | None = None


@contextmanager
def adapted(active: str | Mapping[str, Tensor] | None) -> Iterator[None]:
    global _active
    before, _active = _active, active
    try:
        yield
    finally:
        _active = before


class Pair(nn.Module):
    """A [rank, inputs] and B [outputs, rank], in float32."""

    def __init__(self, inputs: int, outputs: int, rank: int, alpha: float, device: torch.device) -> None:
        super().__init__()
        self.a = nn.Parameter(torch.zeros(rank, inputs, device=device))
        self.b = nn.Parameter(torch.zeros(outputs, rank, device=device))
        self.scale = alpha / rank

    def added(self, result: Tensor, inputs: Tensor, rows: Tensor | None = None) -> Tensor:
        """The layer's result with the adapter's part. @param rows those that have it; None: all"""
        dtype = inputs.dtype
        low = F.linear(inputs, self.a.to(dtype))
        found = torch.addmm(result.flatten(0, -2), low.flatten(0, -2), self.b.to(dtype).t(), alpha=self.scale)
        found = found.view(result.shape)
        # Not before: an adapter that diverged would leave no number in the rows of others.
        return found if rows is None else torch.where(rows.view(-1, *[1] * (result.dim() - 1)), found, result)


class AdaptedLinear(nn.Module):
    """A linear layer, and what each adapter adds to it."""

    def __init__(self, base: nn.Linear) -> None:
        super().__init__()
        self.base = base
        self.pairs = nn.ModuleDict()

    def forward(self, inputs: Tensor) -> Tensor:
        result = self.base(inputs)
        if _active is None:
            return result
        if isinstance(_active, str):
            pair = self._pair(_active)
            return result if pair is None else pair.added(result, inputs)
        # For all rows at once: the shapes, and so the numbers, do not depend on which rows an adapter has.
        for name, rows in _active.items():
            pair = self._pair(name)
            if pair is not None:
                result = pair.added(result, inputs, rows)
        return result

    def _pair(self, name: str) -> Pair | None:
        return self.pairs[name] if name in self.pairs else None


def add_adapter(
    trunk: nn.Module, prefix: str, name: str, rank: int, alpha: float, targets: Sequence[str]
) -> dict[str, nn.Parameter]:
    """The adapter's parameters, by PEFT's names. @param prefix of the trunk's modules in the whole model."""
    found: dict[str, nn.Parameter] = {}
    seen: set[str] = set()
    for place, module in list(trunk.named_modules()):
        last = place.rpartition(".")[2]
        if last not in targets or not isinstance(module, (nn.Linear, AdaptedLinear)):
            continue
        seen.add(last)
        if isinstance(module, nn.Linear):
            module = AdaptedLinear(module)
            parent, _, own = place.rpartition(".")
            setattr(trunk.get_submodule(parent), own, module)
        base = module.base
        pair = Pair(base.in_features, base.out_features, rank, alpha, base.weight.device)
        module.pairs[name] = pair
        for letter, parameter in (("A", pair.a), ("B", pair.b)):
            found[f"base_model.model.{prefix}{place}.lora_{letter}.weight"] = parameter
    missing = [target for target in targets if target not in seen]
    if missing:
        linear = {place.rpartition(".")[2] for place, module in trunk.named_modules() if isinstance(module, nn.Linear)}
        linear = {place.rpartition(".")[2] for place, module in trunk.named_modules() if isinstance(module, AdaptedLinear)} | linear
        remove_adapter(trunk, name)
        known = ", ".join(sorted(linear - {"base"}))
        raise EngineError("bad_arguments", f"the model has no linear layer {missing[0]} to adapt; it has {known}")
    return found


def remove_adapter(trunk: nn.Module, name: str) -> None:
    for module in trunk.modules():
        if isinstance(module, AdaptedLinear) and name in module.pairs:
            del module.pairs[name]
