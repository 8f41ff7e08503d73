#!/usr/bin/env bash
set -euo pipefail
#: `uv run` inside Ray's workers, as SkyRL needs it.
export RAY_RUNTIME_ENV_HOOK=ray._private.runtime_env.uv_runtime_env_hook.hook
export RAY_ADDRESS="${RAY_ADDRESS:-auto}"
{{#job}}
#: The job's directory has this script only; SkyRL's workers are started in the checkout.
unset RAY_JOB_CONFIG_JSON_ENV_VAR
{{/job}}
mkdir -p {{folder}}
cd {{checkout}}
exec {{server}}
