"""Hands a run's points to Weights & Biases: JSON lines in, one answer per line out. Ends with its input."""

import json
import os
import sys

# The answers' own channel: the library prints to the standard ones.
answers = os.fdopen(os.dup(1), "w")
os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def answer(**fields):
    print(json.dumps(fields), file=answers, flush=True)


def begin(wandb, given):
    settings = wandb.Settings(
        console="off",
        silent=True,
        disable_git=True,
        save_code=False,
        x_disable_stats=True,
        x_disable_meta=True,
        x_disable_machine_info=True,
        init_timeout=60,
    )
    return wandb.init(resume="allow", settings=settings, **given)


def main():
    run = None
    for line in sys.stdin:
        request = json.loads(line)
        try:
            if "init" in request:
                import wandb

                run = begin(wandb, request["init"])
            for point in request.get("points", []):
                run.log(point["values"], step=point["step"])
            answer(done=True)
        except ImportError as error:
            answer(missing=str(error))
        except Exception as error:  # The caller says it once and tries again later.
            answer(failure=f"{type(error).__name__}: {error}")
    if run is not None:
        run.finish(quiet=True)


main()
