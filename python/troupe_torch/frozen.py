"""
Frozen weights that stay in bfloat16, as they are on disk, below products in float32. Every bfloat16 is a float32, so the
numbers are those of float32 weights, which would need twice the memory.
"""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import Any, Iterator

import torch
from safetensors import safe_open
from torch import Tensor, nn

#: Weights that are widened at a time: few enough for the processor's cache.
BLOCK = 1 << 20


def is_stored_in_bfloat16(files: set[Path]) -> bool:
    for path in files:
        with safe_open(path, "pt") as file:
            if any(file.get_slice(key).get_dtype() != "BF16" for key in file.keys()):
                return False
    return len(files) > 0


def keep_narrow(whole: nn.Module) -> None:
    """Of a model in bfloat16: products in float32. What is not the weight of a linear layer or an embedding is widened."""
    for module in list(whole.modules()):
        if type(module) is nn.Linear:
            module.__class__ = NarrowLinear
        elif type(module) is nn.Embedding:
            module.__class__ = NarrowEmbedding
    kept = {id(module.weight) for module in whole.modules() if isinstance(module, (NarrowLinear, NarrowEmbedding))}
    # Another layer, which computes with the same weight, would find it in bfloat16.
    others = {
        id(parameter)
        for module in whole.modules()
        for name, parameter in module.named_parameters(recurse=False)
        if not (name == "weight" and isinstance(module, (NarrowLinear, NarrowEmbedding)))
    }
    for parameter in whole.parameters():
        if parameter.dtype == torch.bfloat16 and (id(parameter) in others or id(parameter) not in kept):
            parameter.data = parameter.data.float()
    widen_buffers(whole)


def widen_buffers(whole: nn.Module) -> None:
    """To float32. What transformers computed, and rounded as it loaded, is computed again: Gemma's scale of embeddings."""
    for buffer in whole.buffers():
        if buffer.dtype == torch.bfloat16:
            buffer.data = buffer.data.float()
    for module in whole.modules():
        if hasattr(module, "scalar_embed_scale"):
            module.embed_scale.data = torch.full_like(module.embed_scale, module.scalar_embed_scale, dtype=torch.float32)


@contextmanager
def in_float32(whole: nn.Module) -> Iterator[None]:
    """A model in bfloat16 has the same weights, and computes in float32."""
    data = [(each, each.data) for each in [*whole.parameters(), *whole.buffers()]]
    classes = [(module, module.__class__) for module in whole.modules()]
    quantised = [(module, module.compute_dtype) for module in whole.modules() if hasattr(module, "compute_dtype")]
    keep_narrow(whole)
    for module, _ in quantised:
        module.compute_dtype = torch.float32
    try:
        yield
    finally:
        for tensor, held in data:
            tensor.data = held
        for module, own in classes:
            module.__class__ = own
        for module, dtype in quantised:
            module.compute_dtype = dtype


class NarrowEmbedding(nn.Embedding):
    def forward(self, tokens: Tensor) -> Tensor:
        return super().forward(tokens).float()


class NarrowLinear(nn.Linear):
    def forward(self, inputs: Tensor) -> Tensor:
        if self.weight.dtype == inputs.dtype:
            return super().forward(inputs)
        found = _Product.apply(inputs, self.weight)
        return found if self.bias is None else found + self.bias


class _Product(torch.autograd.Function):
    """inputs · weightᵀ; the weight gets no gradient, and its widened parts are never kept."""

    @staticmethod
    def forward(context: Any, inputs: Tensor, weight: Tensor) -> Tensor:
        context.save_for_backward(weight)
        rows = inputs.reshape(-1, inputs.shape[-1])
        found = rows.new_empty(rows.shape[0], weight.shape[0])
        for places, part in _widened(weight, rows.dtype):
            torch.mm(rows, part.t(), out=found[:, places])
        return found.view(*inputs.shape[:-1], -1)

    @staticmethod
    def backward(context: Any, gradient: Tensor) -> tuple[Tensor, None]:
        (weight,) = context.saved_tensors
        rows = gradient.reshape(-1, gradient.shape[-1])
        found = rows.new_zeros(rows.shape[0], weight.shape[1])
        for places, part in _widened(weight, rows.dtype):
            found.addmm_(rows[:, places], part)
        return found.view(*gradient.shape[:-1], -1), None


_wide: dict[tuple[torch.device, torch.dtype], Tensor] = {}


def _widened(weight: Tensor, dtype: torch.dtype) -> Iterator[tuple[slice, Tensor]]:
    """
    Each part is valid until the next: all are in the same memory. glibc rarely reuses what it gave for aligned tensors while
    small ones, as gradients are, stay in between: that left half a gigabyte in pieces.
    """
    step = max(1, BLOCK // weight.shape[1])
    size = step * weight.shape[1]
    key = (weight.device, dtype)
    if key not in _wide or _wide[key].numel() < size:
        _wide[key] = torch.empty(max(BLOCK, size), dtype=dtype, device=weight.device)
    for at in range(0, weight.shape[0], step):
        part = weight[at : at + step]
        yield slice(at, at + part.shape[0]), _wide[key][: part.numel()].view(part.shape).copy_(part)
