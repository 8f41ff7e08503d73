"""The peak of the memory that work will need, before it is done: of the process, and of the GPU if it computes there."""

from __future__ import annotations

from pathlib import Path
from typing import Mapping

import torch

from .model import Model
from .passes import Settings
from .policy import Policy
from .sampler import TOGETHER, Sampler, are_together
from .vllm_sampler import VllmSampler

#: Numbers of a layer that are kept for its gradient, for each number that its linear layers give: themselves, those
#: before and after norms, activations and rotations, and their own gradients.
KEPT = 2.5
#: Bytes that CUDA itself and its libraries take of a GPU.
CONTEXT = 700 << 20
#: Rows of scores in memory at a time: the scores, their softmax, and one that is being made.
SCORES = 3


def predicted_peak(
    policies: Mapping[str, Policy],
    settings: Settings,
    sampler: Sampler | VllmSampler,
    recompute: bool,
    work: Mapping[str, int],
) -> dict[str, int]:
    """
    @param work `tokens` of a policy's batch, a prompt's once, of which `prompts` are; `longest` sequence; `sequences` that
    are sampled together
    """
    tokens, longest = work["tokens"], work["longest"]
    models = {id(policy.model): policy.model for policy in policies.values()}
    device = next(iter(models.values())).device
    trained = sum(each.numel() for policy in policies.values() for each in policy.parameters.values())
    # Gradients and both moments, in float32. Those that exist are counted twice where the process already holds them.
    steady = 12 * trained
    at_once = max(longest, min(tokens, settings.trunk_tokens))
    # Only what continues a prompt has scores.
    scored = min(settings.head_tokens, at_once, tokens - work["prompts"])
    training = max(_of_training(model, settings, recompute, at_once, scored) for model in models.values())
    if isinstance(sampler, VllmSampler):
        more = steady + sampler.kept_bytes(models.values()) + training
    else:
        more = steady + max(training, _of_sampling(list(models.values()), sampler, longest, work["sequences"]))
    return placed(more, resident(), torch.cuda.memory_allocated(device) if device.type == "cuda" else None)


def placed(more: float, host: int, on_device: int | None) -> dict[str, int]:
    """Where work needs more than the memory in use. @param on_device None: that of the host is the only one"""
    if on_device is None:
        return {"host": int(host + more)}
    return {"host": host, "device": int(CONTEXT + on_device + more)}


def _of_training(model: Model, settings: Settings, recompute: bool, tokens: int, scored: int) -> float:
    size = _bytes(model, settings)
    wide = sum(each.out_features for each in _linear(model)) / _layers(model)
    layer = tokens * KEPT * size * (wide + 4 * model.hidden_size)
    states = tokens * size * model.hidden_size * (_layers(model) + 4)
    scores = SCORES * 4 * model.vocabulary * scored
    return (states + layer if recompute else states + _layers(model) * layer) + scores


def _of_sampling(models: list[Model], sampler: Sampler, longest: int, sequences: int) -> float:
    """Each model has a batch, there are more while they fit, and a prompt is computed before it is in a row."""
    batches = [_of_batch(model, sampler.rows, longest) for model in models]
    largest = max(batches)
    wanted = largest * max(len(models), -(-sequences // sampler.rows))
    together = max(longest, TOGETHER) if are_together(models[0].device) else longest
    cache = max(sum(batches), min(wanted, sampler.most // largest * largest))
    cache += max(_of_batch(model, 1, together) for model in models)
    # Scores are sorted and summed in float64.
    return cache + 40 * sampler.rows * max(model.vocabulary for model in models)


def _of_batch(model: Model, rows: int, longest: int) -> float:
    config = model.whole.config.get_text_config()
    heads = getattr(config, "num_key_value_heads", None) or config.num_attention_heads
    head = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    size = torch.finfo(model.dtype).bits // 8
    # Rows grow by blocks of 128 tokens.
    return rows * (-(-longest // 128) * 128) * _layers(model) * 2 * heads * head * size


def _bytes(model: Model, settings: Settings) -> int:
    return 4 if model.dtype == torch.float32 and not settings.autocast else 2


def _linear(model: Model) -> list[torch.nn.Linear]:
    return [each for each in model.trunk.modules() if isinstance(each, torch.nn.Linear)]


def _layers(model: Model) -> int:
    return model.whole.config.get_text_config().num_hidden_layers


def resident() -> int:
    """Bytes of memory that this process holds."""
    try:
        status = Path("/proc/self/status").read_text()
    except OSError:  # no Linux
        import resource

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return 1024 * int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1])
