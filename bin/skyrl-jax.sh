#!/usr/bin/env bash
# Installs SkyRL's server with its JAX backend for this machine's processor, from a checkout of
# https://github.com/NovaSky-AI/SkyRL, into a virtual environment of about 3 GB with Python 3.12.
#   bin/skyrl-jax.sh CHECKOUT ENVIRONMENT
# Its test then runs with TROUPE_SKYRL_PYTHON=ENVIRONMENT/bin/python.
set -euo pipefail
checkout=${1:?"usage: bin/skyrl-jax.sh CHECKOUT ENVIRONMENT"}
environment=${2:?"usage: bin/skyrl-jax.sh CHECKOUT ENVIRONMENT"}
"${PYTHON:-python3.12}" -m venv "$environment"
pip="$environment/bin/pip"
# The versions that commit a9564572e asks for. JAX needs no torch, but peft imports it: TORCH_INDEX may name one without CUDA.
"$pip" install --quiet torch==2.11.0 --index-url "${TORCH_INDEX:-https://download.pytorch.org/whl/cpu}"
"$pip" install --quiet "jax>=0.8,<1.0" "flax>=0.12.2" "optax>=0.2.5" "tinker>=0.3.0,<=0.24.1" "fastapi[standard]" sqlmodel \
  "sqlalchemy[asyncio]" aiosqlite asyncpg psycopg2-binary "datasets>=4.0.0" "pillow>=11.3.0" "rich>=14.1.0" "safetensors>=0.6.2" \
  "tokenizers>=0.21.2" "transformers>=5.6.1,<=5.8.0" "typer>=0.17.4" hf_transfer "cloudpathlib>=0.23.0" "zstandard>=0.23.0" \
  "xxhash>=3.0.0" "peft==0.18.1" psutil uv
"$pip" install --quiet --no-deps --editable "$checkout"
