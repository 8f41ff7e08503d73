"""A language model of transformers as this engine uses it: a trunk that gives states, and a head that gives scores."""

from __future__ import annotations

import copy
import inspect
import json
from contextlib import nullcontext
from pathlib import Path
from typing import Any, Iterable

import torch
import transformers
from safetensors import safe_open
from torch import Tensor, nn
from transformers import CONFIG_MAPPING, AutoConfig, AutoModelForCausalLM, PretrainedConfig
from transformers.modeling_outputs import BaseModelOutputWithPastAndCrossAttentions

from . import attention
from .attention import Packed, Piece, Rows, laid_out
from .errors import EngineError
from .frozen import in_float32, is_stored_in_bfloat16, keep_narrow
from .quantised import cast_others, quantise

CRITIC = "ForTokenClassification"

#: Above that of any model.
MOST_LENGTH = 1 << 26

#: What differs in architectures that are often asked for; said only if the model was rejected.
WHY = {
    "bloom": "its attention is its own code, with a bias by distance (ALiBi)",
    "mpt": "its attention is its own code, with a bias by distance (ALiBi)",
    "diffllama": "its layers attend twice, each time to half of the values, and the cache of a layer has room for one",
    "xglm": "its attention is its own code",
}

transformers.utils.logging.disable_progress_bar()


class Model:
    """
    `critic`: whether the directory holds a critic, which has no scores. `size`: the number of its parameters.
    @param frozen its weights are never trained
    """

    def __init__(
        self,
        directory: Path,
        dtype: torch.dtype,
        device: torch.device,
        frozen: bool = False,
        in_4_bits: bool = False,
    ) -> None:
        self.directory = directory
        self.source: dict[str, Any] = {}
        try:
            self._open(directory, dtype, device, frozen, in_4_bits)
        except EngineError as error:
            why = WHY.get(str(self.source.get("model_type")))
            if error.code != "unsupported" or why is None:
                raise
            raise EngineError("unsupported", f"{error}: {why}") from error

    def _open(self, directory: Path, dtype: torch.dtype, device: torch.device, frozen: bool, in_4_bits: bool) -> None:
        self.source = read_json(directory / "config.json")
        self.critic = any(str(name).endswith(CRITIC) for name in self.source.get("architectures") or [])
        config = _config(directory)
        self.max_length = _max_length(config, directory)
        self.vocabulary: int = config.vocab_size
        self.device = device
        self.dtype = dtype
        self.hidden_size: int = config.hidden_size
        files = {path for path, _ in stored_tensors(directory, "model").values()}
        in_bfloat16 = is_stored_in_bfloat16(files)
        narrow = frozen and not in_4_bits and dtype == torch.float32 and in_bfloat16
        # Rounded to bfloat16 first, a weight in a hundred would be another one of the 16 numbers.
        loaded = (torch.bfloat16 if in_bfloat16 else torch.float32) if in_4_bits else torch.bfloat16 if narrow else dtype
        whole = _load(directory, config, loaded, self.critic)
        whole.eval().requires_grad_(False)
        self.size = sum(each.numel() for each in whole.parameters())
        if in_4_bits:
            quantise(whole.base_model, dtype)
            cast_others(whole, dtype)
        self.take(whole.to(device))
        if narrow:
            keep_narrow(whole)
        # In bfloat16, what is wrong cannot be told from what is rounded.
        with in_float32(whole) if dtype == torch.bfloat16 else nullcontext():
            _proved(self)

    def take(self, whole: nn.Module) -> None:
        self.whole = whole
        self.trunk: nn.Module = whole.base_model
        if self.trunk is whole:
            raise EngineError("unsupported", f"{self.directory}: its head cannot be told from its trunk")
        self.prefix = f"{whole.base_model_prefix}."
        self._head = _head_of(whole)

    def states(self, tokens: Tensor, positions: Tensor) -> Tensor:
        """[batch, tokens] → [batch, tokens, hidden]; within a layout."""
        return self.trunk(input_ids=tokens, position_ids=positions, use_cache=False).last_hidden_state

    def scores(self, states: Tensor) -> Tensor:
        """[n, hidden] → [n, vocabulary] in float32, with whatever the model does to its scores."""
        return self._head(inputs_embeds=states[:, None]).logits[:, 0].float()

    def recompute_layers(self, enabled: bool) -> None:
        """Layers are computed again for gradients, instead of being kept. Nothing else is different in training mode."""
        self.whole.train(enabled)
        # The oldest supported transformers, 5.0, has only the older name, which later ones deprecate.
        which = "activation" if hasattr(self.whole, "activation_checkpointing_enable") else "gradient"
        if enabled:
            options = {"use_reentrant": False, "preserve_rng_state": False}
            getattr(self.whole, f"{which}_checkpointing_enable")(options)
        else:
            getattr(self.whole, f"{which}_checkpointing_disable")()


def read_json(file: Path) -> dict[str, Any]:
    try:
        found = json.loads(file.read_text())
    except (OSError, ValueError) as error:
        raise EngineError("bad_model", f"{file} cannot be read ({error}); expected a model directory") from error
    if not isinstance(found, dict):
        raise EngineError("bad_model", f"{file} is not a JSON object")
    return found


def _config(directory: Path) -> PretrainedConfig:
    try:
        config = AutoConfig.from_pretrained(directory, local_files_only=True, trust_remote_code=False)
    except Exception as error:  # transformers has many ways to reject a configuration
        source = read_json(directory / "config.json")
        own = "auto_map" in source and source.get("model_type") not in CONFIG_MAPPING
        why = "its architecture is code of its own, which is not executed" if own else _first_line(error)
        raise EngineError("bad_model", f"{directory}/config.json: {why}") from error
    # Dropout has no place in a policy gradient: the probabilities must be those that sampled.
    for key, value in config.to_dict().items():
        if "drop" in key and isinstance(value, float):
            setattr(config, key, 0.0)
    if getattr(config, "quantization_config", None) is not None:
        raise EngineError("bad_model", f"{directory} is quantised; use its float weights")
    return config


def _max_length(config: PretrainedConfig, directory: Path) -> int:
    longest = getattr(config, "max_position_embeddings", None)
    if not isinstance(longest, int) or not 1 <= longest <= MOST_LENGTH:
        raise EngineError("unsupported", f"{directory}/config.json does not say how long its sequences can be")
    rope = getattr(config, "rope_parameters", None) or getattr(config, "rope_scaling", None) or {}
    kind = rope.get("rope_type", rope.get("type"))
    if kind in ("dynamic", "longrope"):
        # Beyond it, the position of one token would change what those before it mean.
        longest = min(longest, rope.get("original_max_position_embeddings") or longest)
    return longest


def _load(directory: Path, config: PretrainedConfig, dtype: torch.dtype, critic: bool) -> nn.Module:
    try:
        model, report = AutoModelForCausalLM.from_pretrained(
            directory,
            config=config,
            dtype=dtype,
            attn_implementation=attention.NAME,
            local_files_only=True,
            trust_remote_code=False,
            use_safetensors=True,
            # Those are reported, as the others are.
            ignore_mismatched_sizes=True,
            output_loading_info=True,
        )
    except EngineError:
        raise
    except KeyError as error:
        what = "has an attention of its own" if error.args == (attention.NAME,) else f"lacks {_first_line(error)}"
        raise EngineError("unsupported", f"{directory}: its architecture in transformers {what}") from error
    except Exception as error:  # transformers has many ways to reject a directory
        raise EngineError("bad_model", f"{directory} cannot be loaded: {_first_line(error)}") from error
    lost = sorted(str(name) for name in report["missing_keys"] if not (critic and str(name).startswith("lm_head")))
    other = sorted(
        str(name) for name in report["unexpected_keys"] if not str(name).startswith("score.") and "rotary" not in str(name)
    )
    # Required: without it, tensors of another shape would stay as they were initialised.
    mismatched = sorted(report["mismatched_keys"])
    if lost or other or mismatched:
        what = f"lacks {lost[0]}" if lost else f"has {other[0]}" if other else _mismatch(*mismatched[0])
        raise EngineError("bad_model", f"{directory} {what}; expected the weights of {type(model).__name__}")
    return model


def _mismatch(name: str, stored: Iterable[int], expected: Iterable[int]) -> str:
    sizes = (" × ".join(str(size) for size in shape) for shape in (stored, expected))
    return "has {} of the shape {}, its config.json says {}".format(name, *sizes)


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:500]


class _Given(nn.Module):
    """Stands for a trunk whose states are known; also for the part of it that some heads ask (OPT)."""

    @property
    def decoder(self) -> nn.Module:
        return self

    def forward(self, *_: Any, inputs_embeds: Tensor, **__: Any) -> BaseModelOutputWithPastAndCrossAttentions:
        found = BaseModelOutputWithPastAndCrossAttentions(last_hidden_state=inputs_embeds)
        # Gemma 4's head passes them on.
        found.shared_kv_states = found.router_logits = None
        return found


def _head_of(whole: nn.Module) -> nn.Module:
    """The same model with given states instead of a trunk: so its scores are scaled and bounded as it does it itself."""
    head = copy.copy(whole)
    head._modules = dict(whole._modules)
    head._modules[whole.base_model_prefix] = _Given()
    return head


def _proved(model: Model) -> None:
    try:
        _prove(model)
    except EngineError as error:
        raise EngineError(error.code, f"{model.directory}: {error}") from error
    except (AttributeError, TypeError, KeyError, IndexError, NotImplementedError) as error:
        kind = type(model.whole).__name__
        raise EngineError(
            "unsupported",
            f"{model.directory}: {kind} does not work as a trunk and a head, so this engine cannot train it "
            f"({type(error).__name__}: {_first_line(error)})",
        ) from error
    finally:
        model.whole.eval()


@torch.no_grad()
def _prove(model: Model) -> None:
    """
    Before a model is used, its own attention and ours must agree: on packed sequences that share a prompt, and token by
    token. So a model that works in an unusual way is rejected, and not trained on wrong numbers.
    """
    if model.critic:
        return
    if "position_ids" not in inspect.signature(model.trunk.forward).parameters:
        raise EngineError("unsupported", f"{type(model.trunk).__name__} counts positions itself, so sequences cannot be packed")
    length = min(24, model.max_length)
    generator = torch.Generator().manual_seed(1)
    tokens = torch.randint(model.vocabulary, (length,), generator=generator).to(model.device)
    prompt = max(1, length // 2)
    middle = (prompt + length) // 2
    if middle <= prompt or middle >= length:
        return
    own = _own_scores(model, tokens)
    if not own.isfinite().all():
        raise EngineError("bad_model", "its scores are no numbers; are its weights?")
    # Layers are computed again in training mode only, which must not change a number.
    model.whole.train()
    positions = torch.arange(length, device=model.device)
    places = torch.cat([positions[:prompt], positions[prompt:middle], positions[prompt:length]])
    packed = torch.cat([tokens[:middle], tokens[prompt:length]])
    layout = Packed([Piece(0, prompt, (middle - prompt, length - prompt))], model.device, capture=True)
    with laid_out(layout):
        states = model.states(packed[None], places[None])[0]
    if any(word in name.lower() for name, _ in model.trunk.named_modules() for word in ("expert", "moe")):
        raise EngineError("unsupported", f"{type(model.whole).__name__} has experts, which this engine does not train")
    _compare(model, model.scores(torch.cat([states[:prompt], states[middle:]])), own, "packed sequences")
    assert layout.captured is not None
    # Blocks so small that the tokens need several.
    rows = Rows(2, block=8)
    rows.fill([1], layout.captured, 0, prompt)
    rows.fill([0], layout.captured, 0, 1)
    found = []
    for at in range(prompt, length):
        lengths = torch.tensor([1, at], device=model.device)
        rows.reserve(at + 1)
        rows.advance(lengths, at)
        with laid_out(rows):
            both = torch.stack([tokens[1], tokens[at]])[:, None]
            found.append(model.states(both, lengths[:, None])[1])
    _compare(model, model.scores(torch.cat(found)), own[prompt:], "sampling token by token")


def _own_scores(model: Model, tokens: Tensor) -> Tensor:
    whole = model.whole
    whole.set_attn_implementation("eager")
    try:
        return whole(input_ids=tokens[None], use_cache=False).logits[0].float()
    finally:
        whole.set_attn_implementation(attention.NAME)


def _compare(model: Model, found: Tensor, expected: Tensor, what: str) -> None:
    difference = (found - expected).abs().max().item()
    if difference <= 1e-3 * max(1.0, expected.abs().max().item()):
        return
    kind = type(model.whole).__name__
    raise EngineError(
        "unsupported",
        f"{kind} computes other scores for {what} than on its own (they differ by "
        f"{difference:.3g}), so this engine cannot train it",
    )


def stored_tensors(directory: Path, stem: str) -> dict[str, tuple[Path, tuple[int, ...]]]:
    """The file and shape of each tensor in a directory. @param stem `model` or `adapter_model`"""
    index = directory / f"{stem}.safetensors.index.json"
    names = [f"{stem}.safetensors"]
    if index.exists():
        listed = read_json(index).get("weight_map")
        if not isinstance(listed, dict) or not all(isinstance(each, str) for each in listed.values()):
            raise EngineError("bad_model", f"{index} lists no files of weights")
        names = sorted(set(listed.values()))
    found: dict[str, tuple[Path, tuple[int, ...]]] = {}
    for name in names:
        try:
            with safe_open(directory / name, "pt") as file:
                for key in file.keys():
                    found[key] = (directory / name, tuple(file.get_slice(key).get_shape()))
        except Exception as error:
            raise EngineError("bad_model", f"{directory / name} cannot be read: {_first_line(error)}") from error
    return found


def read_into(parameters: dict[str, nn.Parameter], stored: dict[str, tuple[Path, tuple[int, ...]]]) -> None:
    """Fills the parameters, all of which must be stored, in their shape."""
    files: dict[Path, list[str]] = {}
    for name in parameters:
        files.setdefault(stored[name][0], []).append(name)
    for path, names in files.items():
        with safe_open(path, "pt") as file:
            for name in names:
                with torch.no_grad():
                    parameters[name].copy_(file.get_tensor(name))
