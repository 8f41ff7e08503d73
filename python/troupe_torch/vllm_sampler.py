"""
Sampling by vLLM, within this process. Each model has an engine there with a copy of its weights; what an update has changed
is copied before its policy samples again. Tokens are chosen and scored by vLLM: their log-probabilities are near those of
passes, not equal, and with the same seed only a batch of the same sequences has the same tokens.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import tempfile
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Iterable, Iterator

import numpy as np
import torch
from safetensors.torch import save_file
from torch import Tensor, nn

from .adapters import AdaptedLinear
from .choosing import mixed
from .errors import EngineError
from .model import Model
from .passes import Settings
from .policy import Policy
from .request import Request, Sequence
from .sampler import Sampler, as_engine_error

#: What it has kernels for.
RANKS = (1, 8, 16, 32, 64, 128, 256, 320, 512)
#: Adapters of a model that a batch can have, and that are kept.
ADAPTERS = 8
KEPT_ADAPTERS = 64
#: Tokens of the largest block of a cache, of which vLLM keeps one for itself.
BLOCK = 128
#: vLLM raises lower temperatures, except 0, to this one.
COLDEST = 0.01


def vllm_problem() -> str | None:
    """Loads vLLM. @returns why it cannot be used"""
    if find_spec("vllm") is None:
        return f"{sys.executable} has no vLLM"
    # Read when it is imported: everything in this process, nothing told to its authors, no names of models looked up.
    os.environ.update(
        VLLM_ENABLE_V1_MULTIPROCESSING="0",
        VLLM_NO_USAGE_STATS="1",
        VLLM_CPU_OMP_THREADS_BIND="nobind",
        OMP_NUM_THREADS=str(torch.get_num_threads()),
    )
    os.environ.setdefault("VLLM_LOGGING_LEVEL", "WARNING")
    try:
        import vllm

        vllm.LLMEngine, vllm.EngineArgs, vllm.SamplingParams
    except Exception as error:  # of another CUDA, or without its libraries
        return f"{sys.executable} cannot import vLLM ({type(error).__name__}: {error})"
    return None


@dataclass(eq=False)
class Served:
    """A model in vLLM."""

    engine: Any
    model: Model
    #: The longest sequence.
    longest: int
    #: The highest that adapters can have; 0: it can have none.
    rank: int
    weight_bytes: int
    running: dict[str, Sequence] = field(default_factory=dict)
    #: The policy's state that a whole model has.
    revision: int | None = None
    #: Adapters with the state that they have, by policy; those that were used last are the last ones.
    adapters: dict[str, tuple[int, Any]] = field(default_factory=dict)


class VllmSampler:
    """@param most bytes of keys and values for each model"""

    def __init__(self, settings: Settings, rows: int, most: int) -> None:
        import vllm

        self.description = f"vLLM {vllm.__version__}"
        self._settings = settings
        self.most = most
        # Copies of whole models live for a step: that is no time to start an engine for each.
        self._copies = Sampler(settings, rows, most)
        self._requests: list[Request] = []
        self._served: dict[Model, Served] = {}
        self._last_id = 0

    def submit(self, request: Request) -> None:
        if request.policy.adapter is None and not request.policy.parameters:
            return self._copies.submit(request)
        if 0 < request.temperature < COLDEST:
            raise EngineError(
                "unsupported", f"temperature is {request.temperature}; vLLM has 0, or at least {COLDEST}: use sampler: own"
            )
        self._requests.append(request)

    @property
    def idle(self) -> bool:
        return self._copies.idle and not (self._requests or any(served.running for served in self._served.values()))

    def cancel(self, request_id: int) -> None:
        self._copies.cancel(request_id)
        error = EngineError("cancelled", "Sampling was cancelled.")
        running = [each.request for served in self._served.values() for each in served.running.values()]
        for request in [*self._requests, *running]:
            if request.id == request_id:
                request.end(error)

    @property
    def bytes(self) -> int:
        return self._copies.bytes + sum(self.most + served.weight_bytes for served in self._served.values())

    def kept_bytes(self, models: Iterable[Model]) -> int:
        """Of models once they have been sampled."""
        return sum(self.most + model.size * self._bits // 8 for model in models)

    def release(self) -> None:
        """vLLM keeps its memory."""
        self._copies.release()

    def keep(self, policies: Iterable[Policy]) -> None:
        """Frees what only other policies need."""
        policies = list(policies)
        self._copies.keep(policies)
        models = {policy.model for policy in policies}
        for model in [model for model in self._served if model not in models]:
            self._close(model)
        names = {policy.name for policy in policies}
        for served in self._served.values():
            for name in [name for name in served.adapters if name not in names]:
                served.engine.remove_lora(served.adapters.pop(name)[1].lora_int_id)

    def step(self) -> None:
        """A token for every sequence for which there is room."""
        if not self._copies.idle:
            self._copies.step()
        waiting, self._requests = self._requests, []
        for request in waiting:
            if not request.over and not self._begin(request):
                self._requests.append(request)
        for served in list(self._served.values()):
            try:
                self._advance(served)
            except Exception as error:
                # What is in its cache then is not known.
                for sequence in served.running.values():
                    sequence.request.end(as_engine_error(error, "sampling"))
                self._close(served.model)

    def _begin(self, request: Request) -> bool:
        """@returns whether it has begun or ended; not while others must end before"""
        try:
            served = self._served_for(request.policy)
            if served is None:
                return False
            if len(request.prompt) + request.most > served.longest:
                raise EngineError(
                    "no_memory",
                    f"a sequence of up to {len(request.prompt) + request.most} tokens has no room in vLLM's cache of "
                    f"{served.longest}: raise engine.cacheBytes or lower maxTokens",
                )
            adapter = self._updated(served, request.policy)
            for sequence in request.sequences:
                self._last_id += 1
                name = str(self._last_id)
                prompt = {"prompt_token_ids": request.prompt.tolist()}
                served.engine.add_request(name, prompt, _parameters(sequence), lora_request=adapter)
                served.running[name] = sequence
        except Exception as error:
            request.end(as_engine_error(error, "sampling"))
        return True

    def _served_for(self, policy: Policy) -> Served | None:
        rank = _rank(policy)
        served = self._served.get(policy.model)
        if served is not None and rank > served.rank:
            if served.running:
                return None
            self._close(policy.model)
            served = None
        if served is None:
            served = self._served[policy.model] = self._start(policy.model, rank)
        return served

    def _start(self, model: Model, rank: int) -> Served:
        from vllm import EngineArgs, LLMEngine

        rank = max(rank, *(_rank_of(each) for each in _pairs(model)), 0) if rank > 0 else 0
        most = next((each for each in RANKS if each >= rank), None)
        if most is None:
            raise EngineError("unsupported", f"vLLM has no adapters of rank {rank}; the highest is {RANKS[-1]}: use sampler: own")
        longest = min(model.max_length, (self.most // (BLOCK * _token_bytes(model, self._bits)) - 1) * BLOCK)
        if longest < 1:
            needed = 2 * BLOCK * _token_bytes(model, self._bits)
            raise EngineError("no_memory", f"engine.cacheBytes is {self.most}; vLLM needs at least {needed} for {model.directory}")
        on_processor = model.device.type == "cpu"
        if on_processor:
            # It would compile a function with a compiler of C++ that need not be there.
            import torch._dynamo

            torch._dynamo.config.disable = True
        adapters = {"enable_lora": True, "max_lora_rank": most, "max_loras": ADAPTERS, "max_cpu_loras": KEPT_ADAPTERS}
        arguments = EngineArgs(
            model=str(model.directory),
            dtype=str(self._dtype).removeprefix("torch."),
            skip_tokenizer_init=True,
            generation_config="vllm",
            max_model_len=longest,
            kv_cache_memory_bytes=self.most,
            # The trainer holds the rest. The cache's size is given, so this is only what must be free at the start.
            gpu_memory_utilization=0.05,
            enforce_eager=on_processor,
            disable_log_stats=True,
            logprobs_mode="raw_logprobs",
            **(adapters if rank > 0 else {}),
        )
        try:
            engine = LLMEngine.from_engine_args(arguments)
        except Exception as error:
            found = as_engine_error(error, "the start of vLLM")
            if found.code == "no_memory":
                raise EngineError("no_memory", f"{found}; lower engine.cacheBytes, or use engine.sampler=own") from error
            said = (str(error).strip().splitlines() or [type(error).__name__])[0][:500]
            raise EngineError("unsupported", f"vLLM cannot sample {model.directory} ({said}); use engine.sampler=own") from error
        return Served(engine, model, longest, most if rank > 0 else 0, _bytes(engine))

    @property
    def _dtype(self) -> torch.dtype:
        return torch.bfloat16 if self._settings.autocast else torch.float32

    @property
    def _bits(self) -> int:
        return torch.finfo(self._dtype).bits

    def _updated(self, served: Served, policy: Policy) -> Any:
        """Gives vLLM the policy's newest weights. @returns what a request names its adapter by"""
        if policy.adapter is not None:
            return self._adapter(served, policy)
        if served.revision != policy.revision:
            weights = iter(_weights(policy.model))
            served.engine.collective_rpc("reload_weights", kwargs={"weights_iterator": weights})
            if policy.model.device.type == "cpu":
                served.engine.apply_model(_pack_head)
            # Keys and values of the old ones.
            if not served.engine.reset_prefix_cache():
                raise EngineError("internal", f"{policy.name} was updated while it was sampled")
            served.revision = policy.revision
        return None

    def _adapter(self, served: Served, policy: Policy) -> Any:
        from vllm.lora.request import LoRARequest

        revision, known = served.adapters.pop(policy.name, (None, None))
        if revision != policy.revision or known is None:
            if known is not None:
                served.engine.remove_lora(known.lora_int_id)
            self._make_room(served)
            self._last_id += 1
            # vLLM reads adapters from files, at once. Keys and values in its cache are of the name, which is new.
            with tempfile.TemporaryDirectory(prefix="troupe-adapter-") as folder:
                _write_adapter(policy, Path(folder))
                known = LoRARequest(f"{policy.name} {self._last_id}", self._last_id, folder)
                if not served.engine.add_lora(known):
                    raise EngineError("internal", f"vLLM does not take the adapter of {policy.name}")
        served.adapters[policy.name] = (policy.revision, known)
        return known

    def _make_room(self, served: Served) -> None:
        running = {each.request.policy.name for each in served.running.values()}
        while len(served.adapters) >= KEPT_ADAPTERS:
            oldest = next((name for name in served.adapters if name not in running), None)
            if oldest is None:
                raise EngineError("unsupported", f"more than {KEPT_ADAPTERS} adapters are sampled together")
            served.engine.remove_lora(served.adapters.pop(oldest)[1].lora_int_id)

    def _advance(self, served: Served) -> None:
        self._drop_ended(served)
        if not served.running:
            return
        for output in served.engine.step():
            sequence = served.running.get(output.request_id)
            if sequence is None:
                continue
            [found] = output.outputs
            goes_on = True
            for token, scores in zip(found.token_ids, found.logprobs or []):
                goes_on = sequence.grow(token, scores[token].logprob)
                if not goes_on:
                    break
            if output.finished:
                del served.running[output.request_id]
                if goes_on:
                    problem = f"vLLM ended a sequence after {len(sequence.tokens)} tokens ({found.finish_reason})"
                    sequence.request.end(EngineError("internal", problem))
            elif not goes_on:
                del served.running[output.request_id]
                served.engine.abort_request([output.request_id])
        self._drop_ended(served)

    def _drop_ended(self, served: Served) -> None:
        ended = [name for name, sequence in served.running.items() if sequence.request.over]
        if ended:
            served.engine.abort_request(ended)
        for name in ended:
            del served.running[name]

    def _close(self, model: Model) -> None:
        """vLLM's own end of an engine takes what all engines of a process share."""
        served = self._served.pop(model)
        client = served.engine.engine_core
        if self._served:
            client._finalizer.detach()
        else:
            client.shutdown()
        del client, served
        gc.collect()
        if model.device.type == "cuda":
            torch.cuda.empty_cache()


def _parameters(sequence: Sequence) -> Any:
    from vllm import SamplingParams
    from vllm.sampling_params import RequestOutputKind

    request = sequence.request
    return SamplingParams(
        temperature=request.temperature,
        top_k=request.top_k,
        top_p=request.top_p,
        seed=int(mixed(request.seed, sequence.index) >> np.uint64(1)),
        max_tokens=request.most,
        ignore_eos=True,
        stop_token_ids=sorted(request.stop_tokens),
        logprobs=0,
        detokenize=False,
        output_kind=RequestOutputKind.DELTA,
    )


def _bytes(engine: Any) -> int:
    [found] = engine.apply_model(lambda model: sum(each.nbytes for each in model.parameters()))
    return found


def _token_bytes(model: Model, bits: int) -> int:
    """Of a token's keys and values."""
    config = model.whole.config.get_text_config()
    heads = getattr(config, "num_key_value_heads", None) or config.num_attention_heads
    head = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    return config.num_hidden_layers * 2 * heads * head * bits // 8


def _weights(model: Model) -> Iterator[tuple[str, Tensor]]:
    """By the names of files; tied ones once."""
    for name, parameter in model.whole.named_parameters():
        yield name, parameter.detach()


def _pack_head(model: Any) -> None:
    """On a processor products are of packed copies of the weights, and vLLM leaves that of a tied head as it was."""
    head = getattr(model, "lm_head", None)
    if head is not None and head.weight.numel() > 0:
        head.quant_method.process_weights_after_loading(head)


def _pairs(model: Model) -> Iterator[nn.Module]:
    for module in model.trunk.modules():
        if isinstance(module, AdaptedLinear):
            yield from module.pairs.values()


def _rank_of(pair: Any) -> int:
    return pair.a.shape[0]


def _own_pairs(policy: Policy) -> Iterator[tuple[str, Any]]:
    for place, module in policy.model.trunk.named_modules():
        if isinstance(module, AdaptedLinear) and policy.adapter in module.pairs:
            yield place, module.pairs[policy.adapter]


def _rank(policy: Policy) -> int:
    return 0 if policy.adapter is None else max(_rank_of(pair) for _, pair in _own_pairs(policy))


def _write_adapter(policy: Policy, folder: Path) -> None:
    """As PEFT does."""
    tensors, targets, rank, alpha = {}, set(), 0, 0.0
    for place, pair in _own_pairs(policy):
        targets.add(place.rpartition(".")[2])
        rank, alpha = _rank_of(pair), pair.scale * _rank_of(pair)
        for letter, parameter in (("A", pair.a), ("B", pair.b)):
            name = f"base_model.model.{policy.model.prefix}{place}.lora_{letter}.weight"
            tensors[name] = parameter.detach().float().cpu().contiguous()
    save_file(tensors, folder / "adapter_model.safetensors")
    config = {"peft_type": "LORA", "r": rank, "lora_alpha": alpha, "target_modules": sorted(targets), "bias": "none"}
    (folder / "adapter_config.json").write_text(json.dumps(config))
