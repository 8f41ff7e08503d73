"""Frozen weights in 4 bits (NF4 with quantised scales, arXiv:2305.14314, sections 3.1 and 3.2), by bitsandbytes."""

from __future__ import annotations

import sys
from typing import Any

import torch
from torch import Tensor, nn

from .errors import EngineError
from .frozen import widen_buffers

# src/engines/torch/install.ts has the same.
REQUIREMENT = "bitsandbytes==0.50.2"


def bitsandbytes() -> Any:
    """@throws EngineError `no_engine` if it is missing or broken"""
    try:
        import bitsandbytes as found
    except Exception as error:  # also libraries that do not load
        raise EngineError(
            "no_engine",
            f"quantise: nf4 needs {REQUIREMENT}, which {sys.executable} cannot import ({type(error).__name__}: {error}); "
            f"`{sys.executable} -m pip install {REQUIREMENT}` installs it there",
            fix="bitsandbytes",
        ) from error
    return found


def quantise(trunk: nn.Module, dtype: torch.dtype) -> None:
    """Replaces linear layers; their weights are quantised when they move to a device. Embeddings and heads stay as they are."""
    library = bitsandbytes()
    linear = [(place, module) for place, module in trunk.named_modules() if type(module) is nn.Linear]
    if not linear:
        raise EngineError("unsupported", "quantise: nf4: the model has no linear layers that could be stored in 4 bits")
    for place, module in linear:
        layer = library.nn.Linear4bit(module.in_features, module.out_features, False, compute_dtype=dtype)
        layer.weight = library.nn.Params4bit(
            module.weight.data, requires_grad=False, quant_type="nf4", compress_statistics=True, module=layer
        )
        layer.bias = module.bias
        # On such processors it would arrange the weights anew for sampling, and training would meet that.
        layer.support_avx512bf16_for_cpu = False
        parent, _, own = place.rpartition(".")
        setattr(trunk.get_submodule(parent), own, layer)


def cast_others(whole: nn.Module, dtype: torch.dtype) -> None:
    """Parameters that are not quantised. Buffers that transformers keeps in float32 stay so."""
    for parameter in whole.parameters():
        if parameter.is_floating_point() and not hasattr(parameter, "quant_state"):
            parameter.data = parameter.data.to(dtype)
    if dtype == torch.float32:
        widen_buffers(whole)


def scale_bytes(weight: Tensor) -> int:
    """Of what belongs to a quantised weight."""
    state = getattr(weight, "quant_state", None)
    if state is None:
        return 0
    nested = state.state2.absmax.nbytes if state.nested else 0
    return state.absmax.nbytes + nested
