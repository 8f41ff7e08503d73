"""PyTorch and transformers on the shapes of shapes.json; one JSON line per measurement.

    python peer.py train MODEL PRECISION SECONDS      PRECISION: float32 | bfloat16 (autocast)
    python peer.py sample MODEL BATCH SECONDS

Training is one step as users of these libraries write it: the model of transformers with its fused attention
(sdpa), cross entropy on the continuation's tokens, backward, gradient clipping, fused AdamW.
"""

import json
import pathlib
import sys
import time

import torch
from transformers import LlamaConfig, LlamaForCausalLM

SHAPES = json.loads((pathlib.Path(__file__).parent.parent / "shapes.json").read_text())


def make_model(name):
    shape = SHAPES["models"][name]
    torch.manual_seed(0)
    return LlamaForCausalLM(LlamaConfig(
        vocab_size=shape["vocabulary"], hidden_size=shape["hidden"], intermediate_size=shape["intermediate"],
        num_hidden_layers=shape["layers"], num_attention_heads=shape["heads"], num_key_value_heads=shape["heads"],
        tie_word_embeddings=True, attn_implementation="sdpa", max_position_embeddings=512,
        bos_token_id=None, eos_token_id=None, pad_token_id=None,
    ))


def repeat(seconds, body):
    """Median seconds of one call of body, after two warm-up calls."""
    body(), body()
    times, end = [], time.perf_counter() + seconds
    while time.perf_counter() < end or len(times) < 3:
        start = time.perf_counter()
        body()
        times.append(time.perf_counter() - start)
    return sorted(times)[len(times) // 2]


def train(name, precision, seconds):
    model = make_model(name).train()
    shape = SHAPES["training"]
    length = shape["prompt"] + shape["continuation"]
    ids = torch.randint(0, SHAPES["models"][name]["vocabulary"], (shape["sequences"], length))
    labels = ids.clone()
    labels[:, : shape["prompt"]] = -100
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)

    def step():
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cpu", torch.bfloat16, enabled=precision == "bfloat16"):
            loss = model(input_ids=ids, labels=labels, use_cache=False).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()

    return shape["sequences"] * length / repeat(seconds, step)


def sample(name, batch, seconds):
    model = make_model(name).eval()
    shape = SHAPES["sampling"]
    prompt = torch.randint(0, SHAPES["models"][name]["vocabulary"], (batch, shape["prompt"]))
    new = shape["newTokens"]

    def generate():
        with torch.inference_mode():
            model.generate(prompt, attention_mask=torch.ones_like(prompt), do_sample=True, temperature=1.0, top_k=0,
                           min_new_tokens=new, max_new_tokens=new)

    return batch * new / repeat(seconds, generate)


if __name__ == "__main__":
    verb, name, option, seconds = sys.argv[1:5]
    torch.set_num_threads(int(sys.argv[5]) if len(sys.argv) > 5 else torch.get_num_threads())
    rate = train(name, option, float(seconds)) if verb == "train" else sample(name, int(option), float(seconds))
    print(json.dumps({"verb": verb, "model": name, "option": option, "tokensPerSecond": rate, "torch": torch.__version__,
                      "threads": torch.get_num_threads()}))
