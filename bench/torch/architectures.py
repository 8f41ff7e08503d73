"""Which architectures of transformers does the engine accept, and are its numbers theirs?

    PYTHONPATH=python python bench/torch/architectures.py [NAME…]

For each language model of transformers (MODEL_FOR_CAUSAL_LM_MAPPING) a tiny one with random weights is saved and opened by
the engine. One that is accepted is compared with transformers' own forward pass in eager attention: the largest difference
of a log-probability, of two continuations that share a prompt, longer than any window; in float32, and with frozen weights
that stay in bfloat16. Prints a line for each, then how many came to what. It fails if one is accepted whose numbers are
others.
"""

import inspect
import signal
import sys
import tempfile
import warnings
from collections import Counter
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM, CONFIG_MAPPING
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES
from transformers.utils import logging

from troupe_torch.attention import Packed, Piece, laid_out
from troupe_torch.errors import EngineError
from troupe_torch.model import Model

LIMIT = 1e-4
SECONDS = 240
MOST_PARAMETERS = 50_000_000
#: Of any configuration that has such a field.
SIZES = {
    32: "hidden_size d_model n_embd embedding_size dim word_embed_proj_dim emb_dim embed_dim decoder_hidden_size "
    "dim_model input_embedding_size embedding_dim hidden_dim attention_hidden_size",
    48: "intermediate_size ffn_dim decoder_ffn_dim encoder_ffn_dim n_inner d_inner dff dim_ff ffn_hidden_size d_ff "
    "moe_intermediate_size shared_expert_intermediate_size feed_forward_size expert_ffn_hidden_size intermediate_size_mlp "
    "shared_intermediate_size block_ff_dim",
    2: "num_hidden_layers n_layer n_layers num_layers decoder_layers encoder_layers num_key_value_heads multi_query_group_num "
    "num_kv_heads num_decoder_layers num_encoder_layers num_experts_per_tok moe_topk num_experts_per_token moe_k",
    4: "num_attention_heads n_head n_heads decoder_attention_heads encoder_attention_heads num_heads num_experts "
    "num_local_experts n_routed_experts moe_num_experts",
    8: "head_dim sliding_window attention_head_size d_kv query_pre_attn_scalar v_head_dim qk_nope_head_dim qk_rope_head_dim "
    "window_size local_attention",
    64: "vocab_size max_position_embeddings n_positions n_ctx max_seq_len max_sequence_length max_target_positions "
    "vocab_size_per_layer_input",
    1: "n_group topk_group n_shared_experts num_shared_experts bos_token_id moe_num_shared_experts",
    16: "kv_lora_rank q_lora_rank hidden_size_per_layer_input laurel_rank",
}
FIELDS = {name: value for value, names in SIZES.items() for name in names.split()} | {
    "eos_token_id": 2, "pad_token_id": 0, "is_decoder": True, "tie_word_embeddings": False,
    "first_k_dense_replace": 0, "bos_token_id": 1, "rotary_dim": 4,
    "logit_scale": 1.0, "full_attn_idxs": [1],
}
#: Sizes that must agree differ among architectures: these are tried, one after the other.
VARIANTS = ({}, {"num_key_value_heads": 4}, {"num_key_value_heads": 4, "head_dim": None}, {"num_hidden_layers": None})


def tiny(kind: type, variant: dict, depth: int = 0):
    """A configuration of the kind with small numbers, also in its parts."""
    known = set(inspect.signature(kind.__init__).parameters) | set(getattr(kind, "__dataclass_fields__", {}))
    known |= set(getattr(kind, "attribute_map", {}))
    wanted = FIELDS | variant
    chosen = {name: value for name, value in wanted.items() if name in known and value is not None}
    parts = getattr(kind, "sub_configs", {}) or {}
    for name, part in parts.items():
        if depth < 2 and name in known and isinstance(part, type) and hasattr(part, "model_type") and part.model_type:
            chosen[name] = tiny(part, variant, depth + 1).to_dict()
    # What the whole does not accept is left as it is, one after the other.
    for _ in range(len(chosen) + 1):
        try:
            return kind(**chosen)
        except Exception as error:
            culprit = next((name for name in chosen if name in str(error)), None)
            if culprit is None:
                raise
            del chosen[culprit]
    return kind()


def compared(directory: str) -> float:
    model = Model(Path(directory), torch.float32, torch.device("cpu"), frozen=True)
    own = AutoModelForCausalLM.from_pretrained(directory, attn_implementation="eager", dtype=torch.float32).eval()
    generator = torch.Generator().manual_seed(5)
    prompt, *continuations = (
        torch.randint(3, model.vocabulary, (length,), generator=generator) for length in (13, 7, 11)
    )
    layout = Packed([Piece(0, 13, (7, 11))], torch.device("cpu"))
    positions = torch.cat([torch.arange(13), 13 + torch.arange(7), 13 + torch.arange(11)])
    with torch.no_grad():
        with laid_out(layout):
            states = model.states(torch.cat([prompt, *continuations])[None], positions[None])[0]
        found = model.scores(states).log_softmax(-1)
        worst = torch.zeros(())
        for at, each in zip((13, 20), continuations):
            tokens = torch.cat([prompt, each])
            whole = own(input_ids=tokens[None], use_cache=False).logits[0].float().log_softmax(-1)
            # Near the end: a window hides what is farther from the last token.
            changed = tokens.clone()
            changed[-3] = (changed[-3] + 1) % model.vocabulary
            other = own(input_ids=changed[None], use_cache=False).logits[0].float()
            if (other.log_softmax(-1) - whole)[-1].abs().max() < 100 * LIMIT:
                raise ValueError("its numbers do not depend on what was before")
            ours = torch.cat([found[:13], found[at : at + len(each)]])
            # Unlike Python's, this maximum keeps what is no number.
            worst = torch.maximum(worst, (ours - whole).abs().max())
    return worst.item()


def narrowed(directory: str) -> str:
    """The same model, saved in bfloat16."""
    narrow = f"{directory}/narrow"
    AutoModelForCausalLM.from_pretrained(directory, dtype=torch.bfloat16).save_pretrained(narrow)
    return narrow


def unusual(config) -> set[str]:
    """Kinds of layers that are not attention to all or some of what is before."""
    kinds = getattr(config.get_text_config(), "layer_types", None) or []
    return {each for each in kinds if each not in ("full_attention", "sliding_attention")}


@torch.no_grad()
def make(name: str, variant: dict, folder: str) -> None:
    torch.manual_seed(7)
    config = tiny(CONFIG_MAPPING[name], variant)
    lost = unusual(CONFIG_MAPPING[name]()) - unusual(config)
    if lost:
        raise ValueError(f"a small one has no {lost.pop()}")
    with torch.device("meta"):
        size = sum(each.numel() for each in AutoModelForCausalLM.from_config(config).parameters())
    if size > MOST_PARAMETERS:
        raise ValueError("it does not become small")
    whole = AutoModelForCausalLM.from_config(config, attn_implementation="eager").eval()
    for parameter in whole.parameters():
        if parameter.is_floating_point():
            parameter.add_(0.1 * torch.randn_like(parameter))
    whole(input_ids=torch.arange(3, 12)[None], use_cache=False)
    whole.save_pretrained(folder)


def verdict(name: str, folder: str) -> tuple[str, str]:
    """What came of it, and the reason."""
    for variant in VARIANTS:
        try:
            make(name, variant, folder)
            break
        except TimeoutError:
            raise
        except Exception as error:
            problem = told(error)
    else:
        return "not made", problem
    try:
        difference = compared(folder)
        if difference <= LIMIT:
            difference = compared(narrowed(folder))
    except TimeoutError:
        raise
    except EngineError as error:
        return "rejected", str(error).replace(f"{folder}: ", "").replace(folder, "")
    except ValueError as error:
        return "not compared", str(error)
    except Exception as error:
        return "failed", told(error)
    return "equal" if difference <= LIMIT else "DIFFERENT", f"{difference:.1e}"


def told(error: Exception) -> str:
    return f"{type(error).__name__}: {(str(error).splitlines() or [''])[0]}"


def expired(*_):
    raise TimeoutError(f"more than {SECONDS} s")


def main(names: list[str]) -> int:
    warnings.simplefilter("ignore")
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    signal.signal(signal.SIGALRM, expired)
    counts: Counter[str] = Counter()
    for name in names or list(MODEL_FOR_CAUSAL_LM_MAPPING_NAMES):
        with tempfile.TemporaryDirectory() as folder:
            signal.alarm(SECONDS)
            try:
                outcome, reason = verdict(name, folder)
            except TimeoutError as error:
                outcome, reason = "not made", str(error)
            signal.alarm(0)
        counts[outcome] += 1
        print(f"{name:28} {outcome:12} {reason[:300]}", flush=True)
    print()
    for outcome, count in sorted(counts.items()):
        print(f"{count:4} {outcome}")
    return counts["DIFFERENT"] + counts["failed"] > 0


sys.exit(main(sys.argv[1:]))
