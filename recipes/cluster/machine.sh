#!/usr/bin/env bash
set -euo pipefail
{{#gpus}}
export CUDA_VISIBLE_DEVICES={{gpus}}
{{/gpus}}
#: Servers that share a machine must not share a Ray, nor find one that someone else started there.
export RAY_ADDRESS=local
mkdir -p {{folder}}
cd {{checkout}}
exec {{server}}
