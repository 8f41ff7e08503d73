"""A policy: what of a model is trained, its optimizer, and how both are saved and restored."""

from __future__ import annotations

import json
import math
import os
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Iterator, Mapping

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from .errors import EngineError, HalfDone
from .model import CRITIC, Model, read_into, stored_tensors

MOMENTS = ("moment1", "moment2")
KIND = "troupe optimizer"


@dataclass(eq=False)
class Policy:
    name: str
    model: Model
    #: The trained ones by their name in files.
    parameters: dict[str, nn.Parameter]
    #: Of an adapter: what it is called in the model's layers.
    adapter: str | None
    score: nn.Linear | None
    steps: int = 0
    #: Another number after each change of the weights.
    revision: int = 0
    #: Whether its gradients are not zero.
    accumulated: bool = False
    moments: dict[str, dict[str, Tensor]] = field(default_factory=dict)
    #: The bytes of each token, for stop strings.
    token_bytes: list[bytes] | None = None

    @property
    def critic(self) -> bool:
        return self.score is not None

    def values(self, states: Tensor) -> Tensor:
        assert self.score is not None
        return self.score(states.float())[:, 0]

    def moment(self, kind: str, name: str) -> Tensor:
        """Zero before the first step."""
        held = self.moments.setdefault(kind, {})
        if name not in held:
            held[name] = torch.zeros_like(self.parameters[name], dtype=torch.float32)
        return held[name]

    def zero_gradients(self) -> None:
        for parameter in self.parameters.values():
            parameter.grad = None
        self.accumulated = False


def make_score(model: Model) -> nn.Linear:
    """Starts at zero."""
    score = nn.Linear(model.hidden_size, 1, device=model.device)
    nn.init.zeros_(score.weight)
    nn.init.zeros_(score.bias)
    return score


def whole_parameters(model: Model, score: nn.Linear | None) -> dict[str, nn.Parameter]:
    """Of a whole model, or a critic's trunk and head. Tied ones once."""
    owner = model.whole if score is None else model.trunk
    prefix = "" if score is None else model.prefix
    found = {f"{prefix}{name}": parameter for name, parameter in owner.named_parameters()}
    if score is not None:
        found |= {f"score.{name}": parameter for name, parameter in score.named_parameters()}
    return found


@torch.no_grad()
def adam_step(policy: Policy, adam: Mapping[str, float]) -> float:
    """AdamW; a gradient that is not finite is discarded. @returns the gradient's norm before it is clipped"""
    _check(adam)
    gradients = {name: each.grad for name, each in policy.parameters.items() if each.grad is not None}
    norms = [torch.linalg.vector_norm(gradient.float()) for gradient in gradients.values()]
    # One copy from a GPU, where each costs as much as many kernels.
    norm = math.sqrt(sum(each**2 for each in (torch.stack(norms).tolist() if norms else [])))
    if not math.isfinite(norm):
        policy.zero_gradients()
        raise EngineError(
            "bad_model",
            f'policy "{policy.name}": the gradient is not finite; the weights are unchanged and the gradient is zero '
            "now. Lower the learning rate or set a clip norm",
            discarded=True,
        )
    # The largest allocation of a step comes before the first weight changes.
    for name in policy.parameters:
        policy.moment("moment1", name), policy.moment("moment2", name)
    clip = adam["clipNorm"] / (norm + 1e-6) if 0 < adam["clipNorm"] < norm else 1.0
    with whole_or_ended(policy):
        for name, parameter in policy.parameters.items():
            gradient = gradients.get(name)
            gradient = torch.zeros_like(parameter) if gradient is None else gradient.float() * clip
            _adam_change(policy, name, gradient, adam)
        policy.steps += 1
    policy.zero_gradients()
    return norm


def _adam_change(policy: Policy, name: str, gradient: Tensor, adam: Mapping[str, float]) -> None:
    beta1, beta2 = adam["beta1"], adam["beta2"]
    correction1, correction2 = 1 - beta1 ** (policy.steps + 1), 1 - beta2 ** (policy.steps + 1)
    mean, square = policy.moment("moment1", name), policy.moment("moment2", name)
    mean.mul_(beta1).add_(gradient, alpha=1 - beta1)
    square.mul_(beta2).addcmul_(gradient, gradient, value=1 - beta2)
    change = (mean / correction1) / ((square / correction2).sqrt_() + adam["epsilon"])
    parameter = policy.parameters[name]
    parameter.sub_(change.add_(parameter, alpha=adam["weightDecay"]).mul_(adam["learningRate"]))


@contextmanager
def whole_or_ended(policy: Policy) -> Iterator[None]:
    """Of a change that was interrupted, as by a lack of memory, nobody knows which weights have it."""
    policy.revision += 1
    try:
        yield
    except Exception as error:
        raise HalfDone(f"{policy.name} was left half changed: {type(error).__name__}: {error}") from error


def _check(adam: Mapping[str, float]) -> None:
    ranges = {
        "learningRate": lambda value: value >= 0,
        "weightDecay": lambda value: value >= 0,
        "clipNorm": lambda value: value >= 0,
        "epsilon": lambda value: value > 0,
        "beta1": lambda value: 0 <= value < 1,
        "beta2": lambda value: 0 <= value < 1,
    }
    for name, holds in ranges.items():
        value = adam[name]
        if not (math.isfinite(value) and holds(value)):
            raise EngineError("bad_arguments", f"optimizer step: {name} is {value}, which is out of its range")


def write_weights(policy: Policy, folder: Path) -> None:
    """Into an existing folder: a model's, with its config.json, or an adapter's tensors alone."""
    stem = "model" if policy.adapter is None else "adapter_model"
    tensors = {name: each.detach().float().cpu().contiguous() for name, each in policy.parameters.items()}
    if policy.adapter is None:
        tensors |= _constants(policy)
    _write(tensors, folder / f"{stem}.safetensors", {"format": "pt"})
    if policy.adapter is None:
        text = json.dumps(_written_config(policy), indent=2)
        (folder / "config.json").write_text(f"{text}\n")


def _constants(policy: Policy) -> dict[str, Tensor]:
    """What is stored with a model but never trained, such as the scalars of Gemma 4's layers."""
    owner, prefix = (policy.model.trunk, policy.model.prefix) if policy.critic else (policy.model.whole, "")
    stored = owner.state_dict()
    return {f"{prefix}{name}": each.cpu().contiguous() for name, each in owner.named_buffers() if name in stored}


def _written_config(policy: Policy) -> dict[str, Any]:
    config = dict(policy.model.source)
    config["dtype" if "dtype" in config else "torch_dtype"] = "float32"
    if not policy.critic or policy.model.critic:
        return config
    listed = [str(name).replace("ForCausalLM", CRITIC) for name in config.get("architectures") or []]
    if not listed:
        listed = [type(policy.model.whole).__name__.replace("ForCausalLM", CRITIC)]
    more = {"id2label": {"0": "value"}, "label2id": {"value": 0}, "classifier_dropout": 0}
    return {**config, "architectures": listed, **more}


def write_optimizer(policy: Policy, file: Path) -> None:
    tensors = {
        f"{kind}.{name}": policy.moment(kind, name).cpu().contiguous() for kind in MOMENTS for name in policy.parameters
    }
    _write(tensors, file, {"kind": KIND, "step_count": str(policy.steps)})


def _write(tensors: dict[str, Tensor], file: Path, metadata: dict[str, str]) -> None:
    """Complete on the disk before it has its name."""
    unfinished = file.with_name(f".{file.name}.unfinished")
    try:
        save_file(tensors, unfinished, metadata=metadata)
        handle = os.open(unfinished, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
        os.replace(unfinished, file)
    except (OSError, SafetensorError) as error:
        unfinished.unlink(missing_ok=True)
        fix = "free some space or make the folder writable, then repeat the command; a run resumes from its last checkpoint"
        raise EngineError("bad_run", f"cannot write {file} ({error}): {fix}") from error


def restore(policy: Policy, directory: Path, optimizer: Path | None) -> None:
    """Everything is checked before the first number changes."""
    stored = checked(policy, directory)
    moments = None if optimizer is None else _checked_moments(policy, optimizer)
    with whole_or_ended(policy):
        read_into(policy.parameters, stored)
        if moments is not None and optimizer is not None:
            with safe_open(optimizer, "pt") as file:
                for kind in MOMENTS:
                    for name in policy.parameters:
                        policy.moment(kind, name).copy_(file.get_tensor(f"{kind}.{name}"))
            policy.steps = moments
    policy.zero_gradients()


def checked(policy: Policy, directory: Path, optional: str = "") -> dict[str, tuple[Path, tuple[int, ...]]]:
    """The stored tensors, which must be those of the policy. @param optional the beginning of names that may be missing"""
    stem = "model" if policy.adapter is None else "adapter_model"
    stored = stored_tensors(directory, stem)
    for name, parameter in policy.parameters.items():
        if name not in stored and optional != "" and name.startswith(optional):
            continue
        if name not in stored or stored[name][1] != tuple(parameter.shape):
            found = f"[{', '.join(map(str, stored[name][1]))}]" if name in stored else "nothing"
            expected = ", ".join(map(str, parameter.shape))
            raise EngineError(
                "bad_model",
                f"{directory} has {found} for {name}; expected [{expected}], as in the policy {policy.name}'s model",
            )
    extra = [name for name in stored if name not in policy.parameters and not _ignored(name, policy)]
    if extra:
        raise EngineError("bad_model", f"{directory} has {extra[0]}, which the policy {policy.name} lacks")
    return stored


def _ignored(name: str, policy: Policy) -> bool:
    """What files have of tied and derived tensors, and a head that is not asked for."""
    return policy.adapter is None and (name.endswith("rotary_emb.inv_freq") or name == "lm_head.weight")


def _checked_moments(policy: Policy, optimizer: Path) -> int:
    try:
        with safe_open(optimizer, "pt") as file:
            metadata = file.metadata() or {}
            shapes = {key: tuple(file.get_slice(key).get_shape()) for key in file.keys()}
    except Exception as error:
        raise EngineError("bad_model", f"{optimizer} cannot be read ({error})") from error
    expected = {f"{kind}.{name}": tuple(each.shape) for kind in MOMENTS for name, each in policy.parameters.items()}
    count = metadata.get("step_count", "")
    if metadata.get("kind") != KIND or not count.isdigit() or shapes != expected:
        raise EngineError(
            "bad_model", f"{optimizer} is not the optimizer's state of this policy; restore a checkpoint with its own file"
        )
    return int(count)
