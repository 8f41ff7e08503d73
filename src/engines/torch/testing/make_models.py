"""Tiny random models of architectures that the local engine does not know, with numbers of transformers in float64.

    python make_models.py DATA.json FOLDER

In FOLDER/NAME: config.json, model.safetensors (float32), and expected.safetensors with `logprobs.I` of sequence I,
`cross_entropy.loss`, and `cross_entropy.gradient.NAME`. The model's own attention is used, one sequence at a time.
"""

import json
import pathlib
import sys

import torch
from safetensors.torch import save_file
from transformers import AutoModelForCausalLM, Gemma2Config, Gemma3TextConfig, GPT2Config, PhiConfig, Phi3Config

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
}


def logprobs(model, prompt, tokens):
    ids = torch.tensor([prompt + tokens])
    rows = model(ids, use_cache=False).logits[0, len(prompt) - 1 : -1].double().log_softmax(-1)
    return rows.gather(1, ids[0, len(prompt) :, None])[:, 0]


def main(data_file, folder):
    data = json.loads(pathlib.Path(data_file).read_text())
    sequences = [(datum["prompt"], each) for datum in data for each in datum["continuations"]]
    for name, config in MODELS.items():
        torch.manual_seed(7)
        model = AutoModelForCausalLM.from_config(config, attn_implementation="eager").eval()
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.add_(0.2 * torch.randn_like(parameter))
        directory = pathlib.Path(folder) / name
        model.save_pretrained(directory)
        model = model.double()
        expected, total = {}, torch.zeros((), dtype=torch.float64)
        for index, (prompt, each) in enumerate(sequences):
            own = logprobs(model, prompt, each["tokens"])
            expected[f"logprobs.{index}"] = own.detach().float()
            total = total - (torch.tensor(each["weights"]).double() * own).sum()
        total.backward()
        expected["cross_entropy.loss"] = total.detach().float()[None]
        for parameter, each in model.named_parameters():
            expected[f"cross_entropy.gradient.{parameter}"] = each.grad.float()
        save_file(expected, directory / "expected.safetensors")


main(*sys.argv[1:])
