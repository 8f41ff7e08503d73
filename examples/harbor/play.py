"""Plays a task of Harbor with bubblewrap instead of a container: the model's reply is the file /app/answer.txt."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from harbor.models.task.task import Task
from openai import OpenAI

task = Task(task_dir=Path(json.loads(os.environ["TROUPE_TASK"])["task"]))
# The agent: any program would do that works in the folder and calls the model at OPENAI_BASE_URL.
question = {"role": "user", "content": task.instruction.strip()}
completion = OpenAI().chat.completions.create(model="agent", messages=[question])

with tempfile.TemporaryDirectory() as folder:
    app, logs = Path(folder, "app"), Path(folder, "logs")
    app.mkdir()
    (logs / "verifier").mkdir(parents=True)
    (app / "answer.txt").write_text(completion.choices[0].message.content.strip())
    # What the tests see: programs of this machine, and the three folders where Harbor puts things.
    system = ["--ro-bind", "/usr", "/usr", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"]
    for name in ["bin", "lib", "lib64"]:
        system += ["--symlink", f"usr/{name}", f"/{name}"]
    bound = ["--bind", app, "/app", "--bind", logs, "/logs", "--ro-bind", task.paths.tests_dir, "/tests"]
    ended = subprocess.run(
        ["bwrap", "--unshare-all", "--die-with-parent", *system, *bound, "--chdir", "/app", "bash", "/tests/test.sh"],
        stdout=sys.stderr,
        timeout=task.config.verifier.timeout_sec,
    )
    reward = logs / "verifier" / "reward.txt"
    if reward.exists():
        print(float(reward.read_text()))
    else:
        # As in Harbor this is an error, not a reward of 0: nothing is printed, and the episode trains nothing.
        print(f"the tests ended with code {ended.returncode} and wrote no reward", file=sys.stderr)
