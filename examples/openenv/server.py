"""An OpenEnv server of a game for one: say the opposite of a word. `pip install openenv-core`, then `python server.py`."""

import os
import random

import uvicorn
from openenv.core.env_server import Action, Environment, Observation, State, create_app

PAIRS = {"hot": "cold", "cold": "hot", "big": "small", "small": "big"}


class Say(Action):
    message: str


class Question(Observation):
    prompt: str


class Opposites(Environment):
    SUPPORTS_CONCURRENT_SESSIONS = True

    def reset(self, seed=None, episode_id=None, **_):
        self.word = random.Random(seed).choice(list(PAIRS))
        return Question(prompt=f"opposite of {self.word}")

    def step(self, action, timeout_s=None, **_):
        reward = float(action.message == PAIRS[self.word])
        return Question(prompt=f"it is {PAIRS[self.word]}", reward=reward, done=True)

    @property
    def state(self):
        return State()


app = create_app(Opposites, Say, Question, max_concurrent_envs=8)

if __name__ == "__main__":
    uvicorn.run(app, host="127.0.0.1", port=int(os.environ.get("PORT", "8000")), log_level="warning")
