"""The works of measure.ts with PyTorch, transformers and PEFT: an adapter of rank 16 on all projections.

    python peer.py MODEL '{"train": 8, "prompt": 128, "reply": 64}' THREADS PRECISION
    python peer.py MODEL '{"sample": 16, "count": 1, "prompt": 128, "reply": 64}' THREADS PRECISION

PRECISION: `bfloat16` weights, `autocast` to bfloat16 from float32 weights, which is often faster and takes more memory, or
`float32`, which is the fastest on a processor without bfloat16 units.
"""

import json
import re
import statistics
import sys
import time

import torch
from peft import LoraConfig, get_peft_model
from torch.nn.functional import cross_entropy
from transformers import AutoModelForCausalLM


def trainer(network, train, prompt, reply):
    ids = torch.randint(6, 512, (train, prompt + reply))
    targets = ids[:, prompt:].flatten()
    optimizer = torch.optim.AdamW([p for p in network.parameters() if p.requires_grad], lr=1e-4, fused=True)

    def step():
        optimizer.zero_grad(set_to_none=True)
        logits = network(input_ids=ids, use_cache=False, logits_to_keep=reply + 1).logits
        cross_entropy(logits[:, :-1].flatten(0, 1).float(), targets).backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimizer.step()

    return train * (prompt + reply), step


def sampler(network, sample, count, prompt, reply):
    network.eval()
    ids = torch.randint(6, 512, (sample, prompt)).repeat_interleave(count, 0)
    mask = torch.ones_like(ids)

    def generate():
        with torch.inference_mode():
            out = network.generate(input_ids=ids, attention_mask=mask, do_sample=True, temperature=1.0, top_k=0,
                                   max_new_tokens=reply, eos_token_id=None, pad_token_id=0)
        assert out.shape == (sample * count, prompt + reply)

    return sample * count * reply, generate


def main(model, work, threads, precision):
    torch.set_num_threads(int(threads))
    casts = precision == "autocast"
    dtype = torch.bfloat16 if precision == "bfloat16" else torch.float32
    network = AutoModelForCausalLM.from_pretrained(model, dtype=dtype, attn_implementation="sdpa")
    network = get_peft_model(network, LoraConfig(r=16, lora_alpha=32, target_modules="all-linear"))
    work = json.loads(work)
    tokens, once = trainer(network, **work) if "train" in work else sampler(network, **work)
    seconds = []
    while len(seconds) < 4 and not (len(seconds) > 1 and seconds[-1] > 30):
        start = time.perf_counter()
        with torch.autocast("cpu", torch.bfloat16, enabled=casts):
            once()
        seconds.append(time.perf_counter() - start)
    typical = statistics.median(seconds[1:])
    status = open("/proc/self/status").read()
    peak = 1024 * int(re.search(r"VmHWM:\s+(\d+)", status).group(1))
    print(json.dumps({"seconds": typical, "tokensPerSecond": tokens / typical, "peak": peak}))


if __name__ == "__main__":
    main(*sys.argv[1:])
