"""The verbs of the engine: one after the other, in the order in which they come, and samples in between."""

from __future__ import annotations

import copy
import queue
import sys
import time
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, Mapping

import numpy as np
import torch
import transformers
from torch import nn

from . import attention
from .adapters import AdaptedLinear, add_adapter, remove_adapter
from .errors import EngineError, HalfDone
from .frames import Message, Writer
from .memory import predicted_peak, resident
from .model import Model, read_into, stored_tensors
from .passes import FIELDS, Pass, Settings, check_data, read_data
from .policy import (
    Policy,
    adam_step,
    checked,
    make_score,
    restore,
    whole_parameters,
    write_optimizer,
    write_weights,
)
from .quantised import bitsandbytes, scale_bytes
from .request import Sequence, request_of
from .sampler import Sampler, as_engine_error
from .vllm_sampler import VllmSampler, vllm_problem

Arrays = Mapping[str, np.ndarray]
Result = tuple[dict[str, Any], dict[str, np.ndarray]]


@dataclass
class Base:
    """A frozen model that adapters share."""

    model: Model
    users: int = 0


class Worker:
    def __init__(
        self, options: Mapping[str, Any], requests: "queue.Queue[Message]", cancelled: set[int], writer: Writer
    ) -> None:
        self._requests = requests
        self._cancelled = cancelled
        self._writer = writer
        self._said = 0.0
        if options["threads"] > 0:
            torch.set_num_threads(options["threads"])
        try:
            self._device = _device(options["device"])
            self._in_4_bits = options["quantise"] == "nf4"
            if self._in_4_bits:
                bitsandbytes()
        except EngineError as error:
            writer.write({"id": 0, "error": {"code": error.code, "message": str(error), "fix": error.fix}})
            sys.exit(1)
        if self._device.type == "cuda":
            # cuDNN's attention would be prepared anew for each length.
            torch.backends.cuda.enable_cudnn_sdp(False)
        if options["deterministic"]:
            torch.use_deterministic_algorithms(True)
        wanted = options["precision"]
        if wanted == "auto":
            wanted = "float32" if self._device.type == "cpu" else "bfloat16"
        self._dtype = torch.float32 if wanted == "float32" else torch.bfloat16
        self._recompute: bool = options["recompute"]
        trunk_tokens = options["trunkTokens"] or _trunk_tokens(self._device)
        settings = Settings(trunk_tokens, options["headTokens"], autocast=self._dtype != torch.float32)
        self._settings = settings
        try:
            self._sampler = self._chosen_sampler(options)
        except EngineError as error:
            writer.write({"id": 0, "error": {"code": error.code, "message": str(error)}})
            sys.exit(1)
        self._policies: dict[str, Policy] = {}
        self._bases: dict[str, Base] = {}
        attention.on_layer = self._alive
        versions = {"python": sys.version.split()[0], "torch": torch.__version__, "transformers": transformers.__version__}
        threads = torch.get_num_threads()
        precision = f"{wanted}, bases in 4 bits" if self._in_4_bits else wanted
        found = {"device": _describe(self._device), "precision": precision, "threads": threads, **versions}
        sampler = self._sampler.description
        self._writer.write({"id": 0, **found, **({} if sampler is None else {"sampler": sampler})})

    def _chosen_sampler(self, options: Mapping[str, Any]) -> Sampler | VllmSampler:
        wanted, sizes = options["sampler"], (options["rows"], options["cacheBytes"])
        is_useful = self._device.type == "cuda" and not (options["deterministic"] or self._in_4_bits)
        if wanted == "own" or (wanted == "auto" and not is_useful):
            return Sampler(self._settings, *sizes)
        problem = vllm_problem()
        if problem is None:
            return VllmSampler(self._settings, *sizes)
        if wanted == "auto":
            print(f"troupe: the worker samples itself, because {problem}", file=sys.stderr)
            return Sampler(self._settings, *sizes)
        fix = "`troupe engine install torch --build vllm` installs it, `engine.sampler=own` needs none"
        raise EngineError("no_engine", f"`sampler: vllm` is set, but {problem}; {fix}")

    def run(self) -> None:
        while True:
            try:
                message = self._requests.get(block=self._sampler.idle)
            except queue.Empty:
                self._sampler.step()
                self._alive()
                continue
            self._handle(message.header, message.arrays)

    def _alive(self) -> None:
        """Says at most each second that the work advances."""
        now = time.monotonic()
        if now - self._said >= 1:
            self._said = now
            self._writer.write({"id": -1, **self._memory()})

    def _memory(self) -> dict[str, object]:
        """What tensors hold, and the whole of the process and of its part of the GPU."""
        process = {"host": resident()}
        if self._device.type == "cuda":
            process["device"] = torch.cuda.memory_reserved(self._device)
        return {"memoryBytes": self._held(), "processMemory": process}

    def _held(self) -> int:
        if self._device.type == "cuda":
            return torch.cuda.memory_allocated(self._device)
        policies = self._policies.values()
        models = {id(policy.model): policy.model for policy in policies}
        tensors = [each for model in models.values() for each in model.whole.parameters()]
        tensors += [each.grad for policy in policies for each in policy.parameters.values() if each.grad is not None]
        tensors += [each for policy in policies for held in policy.moments.values() for each in held.values()]
        return self._sampler.bytes + sum(each.nbytes + scale_bytes(each) for each in tensors)

    def _handle(self, header: dict[str, Any], arrays: Arrays) -> None:
        verb, own = header["verb"], header["id"]
        if verb == "cancel":
            self._sampler.cancel(header["target"])
            self._cancelled.discard(header["target"])
            return
        try:
            if own in self._cancelled:
                raise EngineError("cancelled", "Cancelled before it started.")
            if verb == "sample":
                self._sample(header, arrays)
                return
            result, found = getattr(self, f"_verb_{verb}")(header, arrays)
            self._writer.write({"id": own, **self._memory(), **result}, found)
        except HalfDone:
            raise
        except Exception as error:
            if not isinstance(error, EngineError):
                traceback.print_exc()
            self._fail(own, as_engine_error(error, verb))

    def _fail(self, own: int, error: EngineError) -> None:
        found = {"code": error.code, "message": str(error), "discarded": error.discarded}
        self._writer.write({"id": own, "error": found})

    def _policy(self, name: str) -> Policy:
        policy = self._policies.get(name)
        if policy is None:
            known = ", ".join(self._policies) or "none"
            raise EngineError("bad_arguments", f"There is no policy {name!r}; there is: {known}.")
        return policy

    # Policies

    def _verb_create(self, header: Mapping[str, Any], _: Arrays) -> Result:
        """@returns with `fresh` the tensors that the caller must fill, with their shapes"""
        name, directory = header["name"], Path(header["directory"])
        adapter = header["adapter"]
        if name == "" or name in self._policies:
            raise EngineError("bad_arguments", f"The policy name {name!r} is empty or in use.")
        policy, fresh = (
            self._whole(header, directory) if adapter is None else self._adapter(header, directory, adapter)
        )
        self._policies[name] = policy
        for parameter in policy.parameters.values():
            parameter.requires_grad_(True)
        trained = sum(each.numel() for each in policy.parameters.values())
        frozen = 0 if adapter is None else policy.model.size
        return {
            "parameters": trained + frozen,
            "trainableParameters": trained,
            "maxLength": policy.model.max_length,
            "vocabularySize": policy.model.vocabulary,
            "fresh": [[tensor, list(policy.parameters[tensor].shape)] for tensor in fresh],
        }, {}

    def _whole(self, header: Mapping[str, Any], directory: Path) -> tuple[Policy, list[str]]:
        if self._in_4_bits:
            raise EngineError(
                "unsupported",
                f"the policy {header['name']} is a whole model, which cannot be trained in 4 bits; give it an adapter, or "
                "remove `quantise`",
            )
        model = Model(directory, torch.float32, self._device)
        _check_head(model, header["valueHead"])
        model.recompute_layers(self._recompute)
        score = make_score(model) if header["valueHead"] else None
        policy = Policy(header["name"], model, whole_parameters(model, score), None, score)
        if score is not None and model.critic:
            _read_score(score, directory)
        return policy, []

    def _adapter(
        self, header: Mapping[str, Any], directory: Path, adapter: Mapping[str, Any]
    ) -> tuple[Policy, list[str]]:
        name, place = header["name"], Path(header["base"])
        model = self._base(place, header["baseVersion"])
        try:
            _check_head(model, header["valueHead"])
            found = add_adapter(
                model.trunk, model.prefix, _layer_name(name), adapter["rank"], adapter["alpha"], adapter["targetModules"]
            )
            score = make_score(model) if header["valueHead"] else None
            if score is not None:
                found |= {f"base_model.model.score.{key}": each for key, each in score.named_parameters()}
                if model.critic:
                    _read_score(score, place)
            policy = Policy(name, model, found, _layer_name(name), score)
            if not header["stored"]:
                return policy, [tensor for tensor in found if ".lora_A." in tensor]
            stored = checked(policy, directory, optional="base_model.model.score.")
            read_into({key: each for key, each in found.items() if key in stored}, stored)
            return policy, []
        except Exception:
            remove_adapter(model.trunk, _layer_name(name))
            self._release(model)
            raise

    def _base(self, place: Path, version: str) -> Model:
        """@param version of its files: once they are replaced, the directory holds another model"""
        key = f"{place.resolve()} {version}"
        base = self._bases.get(key)
        if base is None:
            model = Model(place, self._dtype, self._device, frozen=True, in_4_bits=self._in_4_bits)
            base = self._bases[key] = Base(model)
            base.model.recompute_layers(self._recompute)
        base.users += 1
        return base.model

    def _release(self, model: Model) -> None:
        for key, base in list(self._bases.items()):
            if base.model is model:
                base.users -= 1
                if base.users == 0:
                    del self._bases[key]

    def _verb_fill(self, header: Mapping[str, Any], arrays: Arrays) -> Result:
        policy = self._policy(header["name"])
        for tensor, values in arrays.items():
            with torch.no_grad():
                parameter = policy.parameters[tensor]
                parameter.copy_(torch.from_numpy(values.copy()).view(parameter.shape))
        policy.revision += 1
        return {}, {}

    def _verb_remove(self, header: Mapping[str, Any], _: Arrays) -> Result:
        policy = self._policy(header["name"])
        del self._policies[policy.name]
        if policy.adapter is not None:
            remove_adapter(policy.model.trunk, policy.adapter)
            self._release(policy.model)
        self._sampler.keep(self._policies.values())
        return {}, {}

    def _verb_copy(self, header: Mapping[str, Any], _: Arrays) -> Result:
        """Only for sampling."""
        policy, name = self._policy(header["name"]), header["to"]
        if policy.adapter is None:
            model = copy_of(policy.model)
            self._policies[name] = Policy(name, model, {}, None, None, token_bytes=policy.token_bytes)
            return {}, {}
        own = _layer_name(name)
        for module in policy.model.trunk.modules():
            if isinstance(module, AdaptedLinear) and policy.adapter in module.pairs:
                module.pairs[own] = copy.deepcopy(module.pairs[policy.adapter]).requires_grad_(False)
        for base in self._bases.values():
            base.users += base.model is policy.model
        self._policies[name] = Policy(name, policy.model, {}, own, None, token_bytes=policy.token_bytes)
        return {}, {}

    def _verb_tokenBytes(self, header: Mapping[str, Any], arrays: Arrays) -> Result:
        policy = self._policy(header["name"])
        whole = arrays["bytes"].tobytes()
        ends = np.cumsum(arrays["lengths"]).tolist()
        policy.token_bytes = [whole[start:end] for start, end in zip([0, *ends], ends)]
        return {}, {}

    # Data

    def _sample(self, header: Mapping[str, Any], arrays: Arrays) -> None:
        policy = self._policy(header["policy"])
        own = header["id"]

        def answer(sequences: list[Sequence]) -> None:
            lengths = np.array([len(each.tokens) for each in sequences], np.int32)
            found = {
                "tokens": np.array([token for each in sequences for token in each.tokens], np.int32),
                "logprobs": np.array([number for each in sequences for number in each.logprobs], np.float32),
                "lengths": lengths,
                "stopped": np.array([each.stopped for each in sequences], np.uint8),
            }
            # vLLM does not tell them.
            if all(len(each.entropies) == len(each.tokens) for each in sequences):
                found["entropies"] = np.array([number for each in sequences for number in each.entropies], np.float32)
            self._writer.write({"id": own, **self._memory()}, found)

        request = request_of(
            policy, header, arrays["prompt"], arrays["stopTokens"], answer=answer, fail=lambda error: self._fail(own, error)
        )
        self._sampler.submit(request)

    def _verb_forward(self, header: Mapping[str, Any], arrays: Arrays) -> Result:
        data = read_data(header, arrays)
        check_data(data, self._policies, None)
        top = header["top"]
        for datum in data if top > 0 else []:
            policy = self._policies[datum.policy]
            if policy.critic or top > policy.model.vocabulary:
                raise EngineError("bad_arguments", f"{datum.policy} has no {top} most probable tokens")
        numbers = {"mask": arrays["mask"]} if "mask" in arrays else {}
        self._sampler.release()
        made = Pass(self._policies, self._settings, self._interrupter(header), None, numbers, top)
        found = made.over(data)
        return _summed(made), found

    def _verb_forwardBackward(self, header: Mapping[str, Any], arrays: Arrays) -> Result:
        data = read_data(header, arrays)
        check_data(data, self._policies, header["loss"])
        policies = [self._policies[name] for name in {datum.policy for datum in data}]
        if any(not policy.parameters for policy in policies):
            raise EngineError("bad_arguments", "a copy is not trained")
        # Gradients of earlier calls, which a failure must leave as they were.
        before = {
            policy.name: {name: each.grad.clone() for name, each in policy.parameters.items() if each.grad is not None}
            for policy in policies
            if policy.accumulated
        }
        numbers = {name: arrays[name] for name in FIELDS if name in arrays}
        self._sampler.release()
        made = Pass(self._policies, self._settings, self._interrupter(header), header["loss"], numbers)
        try:
            found = made.over(data)
        except Exception as error:
            for policy in policies:
                policy.zero_gradients()
            if isinstance(error, EngineError) and error.code == "cancelled":
                error.discarded = True
                raise
            for policy in policies:
                for name, gradient in before.get(policy.name, {}).items():
                    policy.parameters[name].grad = gradient
                    policy.accumulated = True
            raise
        return _summed(made), found

    def _interrupter(self, header: Mapping[str, Any]) -> Callable[[], None]:
        def interrupted() -> None:
            self._alive()
            if header["id"] in self._cancelled:
                raise EngineError("cancelled", "Cancelled while it was computed.")

        return interrupted

    def _verb_optimStep(self, header: Mapping[str, Any], _: Arrays) -> Result:
        policy = self._policy(header["name"])
        return {"gradientNorm": adam_step(policy, header["adam"])}, {}

    def _verb_zeroGradients(self, header: Mapping[str, Any], _: Arrays) -> Result:
        self._policy(header["name"]).zero_gradients()
        return {}, {}

    def _verb_predictMemory(self, header: Mapping[str, Any], _: Arrays) -> Result:
        return predicted_peak(self._policies, self._settings, self._sampler, self._recompute, header), {}

    # Files

    def _verb_write(self, header: Mapping[str, Any], _: Arrays) -> Result:
        write_weights(self._policy(header["name"]), Path(header["folder"]))
        return {}, {}

    def _verb_writeOptimizer(self, header: Mapping[str, Any], _: Arrays) -> Result:
        write_optimizer(self._policy(header["name"]), Path(header["file"]))
        return {}, {}

    def _verb_restore(self, header: Mapping[str, Any], _: Arrays) -> Result:
        optimizer = None if header["optimizer"] is None else Path(header["optimizer"])
        restore(self._policy(header["name"]), Path(header["directory"]), optimizer)
        return {}, {}

    def _verb_readTensor(self, header: Mapping[str, Any], _: Arrays) -> Result:
        """For tests and inspection."""
        policy, tensor = self._policy(header["name"]), header["tensor"]
        parameter = policy.parameters.get(tensor)
        if parameter is None:
            raise EngineError("bad_arguments", f"The policy {policy.name} has no tensor {tensor}.")
        kind = header["kind"]
        zero = torch.zeros_like(parameter)
        found = {"weight": parameter, "gradient": parameter.grad if parameter.grad is not None else zero}.get(kind)
        values = policy.moment(kind, tensor) if found is None else found
        return {}, {"values": values.detach().float().cpu().numpy().reshape(-1)}


def _summed(made: Pass) -> dict[str, Any]:
    sums = made.sums
    return {
        "loss": sums.loss,
        "tokens": sums.tokens,
        "entropy": sums.entropy,
        "kl": sums.kl,
        "referenceKl": sums.reference_kl,
        "clipped": sums.clipped,
    }


def copy_of(model: Model) -> Model:
    """With weights of its own, which are not trained."""
    found = copy.copy(model)
    with torch.no_grad():
        found.take(copy.deepcopy(model.whole).requires_grad_(False))
    return found


def _layer_name(policy: str) -> str:
    """Modules of torch have no dots in their names."""
    return f"adapter {policy.encode().hex()}"


def _check_head(model: Model, value_head: bool) -> None:
    if model.critic and not value_head:
        raise EngineError(
            "bad_model",
            f"{model.directory} contains a critic, which cannot be sampled. Give the policy a value head, or use another model",
        )


def _read_score(score: nn.Linear, directory: Path) -> None:
    names = {f"score.{name}": each for name, each in score.named_parameters()}
    stored = stored_tensors(directory, "model")
    if any(name not in stored or stored[name][1] != tuple(each.shape) for name, each in names.items()):
        raise EngineError("bad_model", f"{directory} has no head of one value (score.weight, score.bias)")
    read_into(names, stored)


def _device(wanted: str) -> torch.device:
    available = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available(), "cpu": True}
    if wanted == "auto":
        return torch.device(next(name for name, works in available.items() if works))
    if available[wanted]:
        return torch.device(wanted)
    works = " and ".join(name for name, works in available.items() if works)
    raise EngineError("no_engine", f"PyTorch {torch.__version__} finds no {wanted}, but {works} (engine.device); {_missing(wanted)}")


def _missing(wanted: str) -> str:
    """What to do."""
    others = "set engine.device to cpu, or leave it out"
    if wanted == "mps":
        return f"a Mac with Apple's processor and macOS 14 or newer has it; {others}"
    if torch.version.cuda is None:
        return f"this build is without CUDA: install the default one, or {others}"
    return f"see whether `nvidia-smi` shows the GPU and a driver for CUDA {torch.version.cuda}; otherwise {others}"


def _trunk_tokens(device: torch.device) -> int:
    """Large GPUs compute small packs faster than kernels can be started, and have room for larger ones."""
    is_large = device.type == "cuda" and torch.cuda.mem_get_info(device)[1] > 20 << 30
    return 16384 if is_large else 4096


def _describe(device: torch.device) -> str:
    if device.type != "cuda":
        return device.type
    _, total = torch.cuda.mem_get_info(device)
    return f"{torch.cuda.get_device_name(device)} with {total / 2**30:.0f} GiB"
