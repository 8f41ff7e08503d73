"""Two games behind the server of openenv-core: `python server.py PORT`, with GAME=say or nim, and SESSIONS."""

import os
import sys
import time

import uvicorn
from openenv.core.env_server import Action, Environment, Observation, State, create_app

WORDS = ["hot", "cold", "big", "small"]


class Say(Action):
    message: str


class Said(Observation):
    prompt: str


class SayEnvironment(Environment):
    """Say the word that is asked for. Some messages make trouble."""

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self):
        super().__init__()
        self.word, self.steps = "", 0

    def reset(self, seed=None, episode_id=None, steps=1, **_):
        self.word, self.steps = WORDS[(seed or 0) % len(WORDS)], steps
        return Said(prompt=f"say {self.word}")

    def step(self, action, timeout_s=None, **_):
        if action.message == "sleep":
            time.sleep(2)
        if action.message == "die":
            os._exit(1)
        if action.message == "raise":
            raise ValueError("somebody said raise")
        self.steps -= 1
        reward = {"nothing": None, "nan": float("nan"), "much": 7.0}.get(action.message, float(action.message == self.word))
        return Said(prompt=f"say {self.word}", reward=reward, done=self.steps <= 0)

    @property
    def state(self):
        return State(step_count=0)


class Take(Action):
    stones: int


class Heap(Observation):
    stones: int
    player: int


class NimEnvironment(Environment):
    """Two players take one or two stones in turn; whoever takes the last one wins."""

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self):
        super().__init__()
        self.stones, self.player = 0, 0

    def reset(self, seed=None, episode_id=None, **_):
        self.stones, self.player = 4 + (seed or 0) % 2, 0
        return Heap(stones=self.stones, player=self.player)

    def step(self, action, timeout_s=None, **_):
        if action.stones not in (1, 2) or action.stones > self.stones:
            raise ValueError(f"{action.stones} stones cannot be taken from {self.stones}")
        self.stones -= action.stones
        self.player = 1 - self.player
        done = self.stones == 0
        return Heap(stones=self.stones, player=self.player, reward=1.0 if done else 0.0, done=done)

    @property
    def state(self):
        return State(step_count=0, mover="second" if self.player else "first")


GAMES = {"say": (SayEnvironment, Say, Said), "nim": (NimEnvironment, Take, Heap)}
app = create_app(*GAMES[os.environ.get("GAME", "say")], max_concurrent_envs=int(os.environ.get("SESSIONS", "1")))
uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="warning")
