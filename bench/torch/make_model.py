"""A model directory with random weights in bfloat16: make_model.py SHAPE LAYERS DIRECTORY (0 layers: all of the shape)."""

import json
import sys
from pathlib import Path

import torch
from safetensors.torch import save_file
from transformers import AutoConfig, AutoModelForCausalLM

name, layers, directory = sys.argv[1], int(sys.argv[2]), Path(sys.argv[3])
shape = json.loads(Path(__file__).with_name("shapes.json").read_text())[name]
directory.mkdir(parents=True)
if layers > 0:
    shape["num_hidden_layers"] = layers
config = {**shape, "architectures": [shape.pop("architecture")], "dtype": "bfloat16", "attention_dropout": 0.0,
          "bos_token_id": 0, "eos_token_id": 0, "use_cache": True}
(directory / "config.json").write_text(json.dumps(config, indent=2))

with torch.device("meta"):
    model = AutoModelForCausalLM.from_config(AutoConfig.from_pretrained(directory))
torch.manual_seed(1)
device = "cuda" if torch.cuda.is_available() else "cpu"
tensors = {}
for key, parameter in model.named_parameters():
    if key.endswith("norm.weight"):
        tensors[key] = torch.ones(parameter.shape, dtype=torch.bfloat16)
    elif key.endswith("bias"):
        tensors[key] = torch.zeros(parameter.shape, dtype=torch.bfloat16)
    else:
        tensors[key] = torch.empty(parameter.shape, dtype=torch.bfloat16, device=device).normal_(std=0.02).cpu()
save_file(tensors, directory / "model.safetensors", {"format": "pt"})
