"""Plays one task of a verifiers environment with the model at OPENAI_BASE_URL, and prints its reward."""

import asyncio
import json
import os
import sys

import verifiers.v1 as vf
from verifiers.v1.utils.loaders import load_environment

chosen = json.loads(os.environ["TROUPE_TASK"])


async def play() -> vf.Episode:
    agent = {"runtime": {"type": "subprocess"}}
    config = vf.SingleAgentEnvConfig(taskset={"id": chosen["environment"]}, agent=agent)
    environment = load_environment(config)
    task = list(environment.taskset)[chosen["index"]]
    client = vf.EvalClientConfig(
        base_url=os.environ["OPENAI_BASE_URL"], api_key_var="OPENAI_API_KEY"
    )
    async with environment.serving():
        return await environment.run_episode(task, vf.ModelContext("agent", client))


episode = asyncio.run(play())
if episode.ok:
    print(episode.traces[0].reward)
else:
    # No reward is printed: the episode trains nothing.
    print(episode.errors, [trace.errors for trace in episode.traces], file=sys.stderr)
