"""Tiny random models of architectures, most of which the local engine does not know, with numbers of transformers in float64.

    python make_models.py DATA.json FOLDER

In FOLDER/NAME: config.json, model.safetensors (float32), and expected.safetensors with `logprobs.I` of sequence I,
`cross_entropy.loss`, and `cross_entropy.gradient.NAME`. The model's own attention is used, one sequence at a time.
FOLDER/NAME/narrow is the model in bfloat16, with `logprobs.I` of these weights.
"""

import copy
import json
import pathlib
import sys

import torch
from safetensors.torch import save_file
from transformers import (
    AutoModelForCausalLM, BioGptConfig, BloomConfig, CohereConfig, DiffLlamaConfig, FalconConfig, Gemma2Config,
    Gemma3TextConfig, Gemma4TextConfig, Glm4Config, GPT2Config, GPTNeoXConfig, GptOssConfig, GraniteConfig, MptConfig,
    Olmo2Config, PhiConfig, Phi3Config, PLBartConfig, Qwen3MoeConfig, SmolLM3Config, StableLmConfig,
    Starcoder2Config, XGLMConfig,
)

SHAPE = dict(
    vocab_size=37, hidden_size=24, intermediate_size=40, num_hidden_layers=2, num_attention_heads=4,
    max_position_embeddings=64, attn_implementation="eager", bos_token_id=1, eos_token_id=2, pad_token_id=0,
)
# Windows are shorter than the sequences.
MODELS = {
    "gemma3": Gemma3TextConfig(
        **SHAPE, num_key_value_heads=2, head_dim=8, sliding_window=8, query_pre_attn_scalar=8,
        layer_types=["sliding_attention", "full_attention"],
    ),
    "gemma2": Gemma2Config(
        **SHAPE, num_key_value_heads=2, head_dim=8, sliding_window=8, query_pre_attn_scalar=8,
        layer_types=["sliding_attention", "full_attention"], attn_logit_softcapping=2.0, final_logit_softcapping=3.0,
    ),
    "phi": PhiConfig(**{**SHAPE, "hidden_size": 32}, qk_layernorm=True),
    "phi3": Phi3Config(**SHAPE, num_key_value_heads=2),
    "gpt2": GPT2Config(
        vocab_size=37, n_embd=24, n_layer=2, n_head=4, n_positions=64, attn_implementation="eager",
        bos_token_id=1, eos_token_id=2,
    ),
    "olmo2": Olmo2Config(**SHAPE, num_key_value_heads=2),
    "granite": GraniteConfig(
        **SHAPE, num_key_value_heads=2, embedding_multiplier=3.0, logits_scaling=2.0, residual_multiplier=0.5,
        attention_multiplier=0.2,
    ),
    "stablelm": StableLmConfig(
        **{**SHAPE, "hidden_size": 32}, num_key_value_heads=2, qk_layernorm=True, use_parallel_residual=True
    ),
    "gpt_neox": GPTNeoXConfig(**{**SHAPE, "hidden_size": 32}),
    "starcoder2": Starcoder2Config(**SHAPE, num_key_value_heads=2, sliding_window=8),
    "cohere": CohereConfig(**SHAPE, num_key_value_heads=2),
    "glm4": Glm4Config(**SHAPE, num_key_value_heads=2, head_dim=8),
    "smollm3": SmolLM3Config(**SHAPE, num_key_value_heads=2, no_rope_layers=[1, 0]),
    # The last two layers use the keys and values of the first two, and have inputs of their own.
    "gemma4": Gemma4TextConfig(
        **{**SHAPE, "num_hidden_layers": 4}, num_key_value_heads=2, head_dim=8, global_head_dim=8, sliding_window=8,
        hidden_size_per_layer_input=8, num_kv_shared_layers=2, vocab_size_per_layer_input=37,
        layer_types=2 * ["sliding_attention", "full_attention"],
    ),
    # With dropout, which must not be in training.
    "biogpt": BioGptConfig(**SHAPE),
}
# Which the engine must reject: experts, attention with sinks or of their own.
OTHERS = {
    "qwen3_moe": Qwen3MoeConfig(
        **SHAPE, num_key_value_heads=2, head_dim=8, num_experts=4, num_experts_per_tok=2, moe_intermediate_size=16
    ),
    "bloom": BloomConfig(vocab_size=37, hidden_size=24, n_layer=2, n_head=4),
    "falcon": FalconConfig(vocab_size=37, hidden_size=24, num_hidden_layers=2, num_attention_heads=4),
    "mpt": MptConfig(vocab_size=37, d_model=24, n_layers=2, n_heads=4, max_seq_len=64),
    "xglm": XGLMConfig(vocab_size=37, d_model=24, ffn_dim=40, num_layers=2, attention_heads=4, max_position_embeddings=64),
    "plbart": PLBartConfig(
        vocab_size=37, d_model=24, decoder_layers=2, decoder_attention_heads=4, decoder_ffn_dim=40, is_decoder=True,
        is_encoder_decoder=False, max_position_embeddings=64,
    ),
    "diffllama": DiffLlamaConfig(**SHAPE, num_key_value_heads=2),
    "gpt_oss": GptOssConfig(**SHAPE, num_key_value_heads=2, head_dim=8, num_local_experts=4, num_experts_per_tok=2),
}


def logprobs(model, prompt, tokens):
    ids = torch.tensor([prompt + tokens])
    rows = model(ids, use_cache=False).logits[0, len(prompt) - 1 : -1].double().log_softmax(-1)
    return rows.gather(1, ids[0, len(prompt) :, None])[:, 0]


def main(data_file, folder):
    data = json.loads(pathlib.Path(data_file).read_text())
    sequences = [(datum["prompt"], each) for datum in data for each in datum["continuations"]]
    for name, config in OTHERS.items():
        torch.manual_seed(7)
        AutoModelForCausalLM.from_config(config).save_pretrained(pathlib.Path(folder) / name)
    for name, config in MODELS.items():
        torch.manual_seed(7)
        model = AutoModelForCausalLM.from_config(config, attn_implementation="eager").eval()
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.add_(0.2 * torch.randn_like(parameter))
        directory = pathlib.Path(folder) / name
        model.save_pretrained(directory)
        narrow = directory / "narrow"
        copy.deepcopy(model).to(torch.bfloat16).save_pretrained(narrow)
        rounded = AutoModelForCausalLM.from_pretrained(narrow, dtype=torch.float64, attn_implementation="eager")
        with torch.no_grad():
            found = {f"logprobs.{index}": logprobs(rounded, prompt, each["tokens"]).float() for index, (prompt, each) in enumerate(sequences)}
        save_file(found, narrow / "expected.safetensors")
        model = model.double()
        expected, total = {}, torch.zeros((), dtype=torch.float64)
        for index, (prompt, each) in enumerate(sequences):
            own = logprobs(model, prompt, each["tokens"])
            expected[f"logprobs.{index}"] = own.detach().float()
            total = total - (torch.tensor(each["weights"]).double() * own).sum()
        total.backward()
        expected["cross_entropy.loss"] = total.detach().float()[None]
        for parameter, each in model.named_parameters():
            # What is added to all keys changes no weight of attention: such a gradient is nothing but rounding.
            if each.grad.abs().max() < 1e-9:
                continue
            expected[f"cross_entropy.gradient.{parameter}"] = each.grad.float()
        save_file(expected, directory / "expected.safetensors")


main(*sys.argv[1:])
