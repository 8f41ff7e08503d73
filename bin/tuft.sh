#!/usr/bin/env bash
# Installs TuFT's server from PyPI, for a machine with an NVIDIA GPU: training and sampling (vLLM) need CUDA.
#   bin/tuft.sh ENVIRONMENT
# Its test then runs with TROUPE_TUFT_PYTHON=ENVIRONMENT/bin/python.
set -euo pipefail
environment=${1:?"usage: bin/tuft.sh ENVIRONMENT"}
"${PYTHON:-python3.12}" -m venv "$environment"
"$environment/bin/pip" install --quiet tuft==0.2.2
