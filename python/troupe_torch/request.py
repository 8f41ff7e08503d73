"""What is asked of a sampler, and how far it is."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Callable, Mapping

import numpy as np

from .errors import EngineError
from .passes import check_tokens
from .policy import Policy


@dataclass(eq=False)
class Request:
    id: int
    policy: Policy
    prompt: np.ndarray
    count: int
    most: int
    temperature: float
    top_k: int
    top_p: float
    seed: int
    stop_tokens: frozenset[int]
    stop_strings: tuple[bytes, ...]
    answer: Callable[[list["Sequence"]], None]
    fail: Callable[[EngineError], None]
    sequences: list["Sequence"] = field(default_factory=list)
    left: int = 0
    over: bool = False

    def end(self, error: EngineError | None) -> None:
        if self.over:
            return
        self.over = True
        if error is None:
            self.answer(self.sequences)
        else:
            self.fail(error)


@dataclass(eq=False)
class Sequence:
    request: Request
    index: int
    tokens: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    entropies: list[float] = field(default_factory=list)
    stopped: bool = False
    tail: bytes = b""

    def grow(self, token: int, logprob: float, entropy: float | None = None) -> bool:
        """Ends the request with its last sequence. @param entropy None: not known. @returns whether it goes on"""
        request = self.request
        if not np.isfinite(logprob):
            name = request.policy.name
            request.end(EngineError("bad_model", f'policy "{name}": its scores are not finite; it has diverged'))
            return False
        if entropy is not None:
            self.entropies.append(entropy)
        if not self._append(token, logprob):
            return True
        request.left -= 1
        if request.left == 0:
            request.end(None)
        return False

    def _append(self, token: int, logprob: float) -> bool:
        """@returns whether it is over"""
        request = self.request
        self.tokens.append(token)
        self.logprobs.append(logprob)
        self.stopped = token in request.stop_tokens or self._completes(token)
        return self.stopped or len(self.tokens) == request.most

    def _completes(self, token: int) -> bool:
        stops = self.request.stop_strings
        if not stops:
            return False
        table = self.request.policy.token_bytes
        assert table is not None
        self.tail += table[token]
        if any(stop in self.tail for stop in stops):
            return True
        keep = max(map(len, stops)) - 1
        self.tail = self.tail[-keep:] if keep > 0 else b""
        return False


def request_of(policy: Policy, header: Mapping[str, Any], prompt: np.ndarray, stops: np.ndarray, **ends: Any) -> Request:
    """@throws EngineError for what cannot be sampled"""
    model = policy.model
    if policy.critic:
        raise EngineError("bad_arguments", f"{policy.name} is a critic, which has values and samples nothing")
    check_tokens(prompt, model, "prompt")
    check_tokens(stops, model, "stopTokens")
    if len(prompt) == 0:
        raise EngineError("bad_shape", "the prompt is empty; expected at least one token")
    room = model.max_length - len(prompt)
    if room < 1:
        raise EngineError("too_long", f"a prompt of {len(prompt)} tokens fills the model's {model.max_length}")
    ranges = {
        "count": header["count"] >= 1 and header["count"] == int(header["count"]),
        "maxTokens": header["maxTokens"] >= 1 and header["maxTokens"] == int(header["maxTokens"]),
        "temperature": header["temperature"] >= 0,
        "topK": header["topK"] >= 0 and header["topK"] == int(header["topK"]),
        "topP": 0 < header["topP"] <= 1,
        "seed": 0 <= header["seed"] < 2**53 and header["seed"] == int(header["seed"]),
    }
    for name, holds in ranges.items():
        if not holds:
            raise EngineError("bad_arguments", f"{name} is {header[name]}, which is out of its range")
    strings = tuple(text.encode() for text in header["stopStrings"])
    if b"" in strings:
        raise EngineError("bad_arguments", "a stop string is empty")
    if strings and policy.token_bytes is None:
        raise EngineError("internal", f"{policy.name} has no bytes of its tokens")
    request = Request(
        id=header["id"],
        policy=policy,
        prompt=prompt,
        count=int(header["count"]),
        most=min(int(header["maxTokens"]), room),
        temperature=header["temperature"],
        top_k=int(header["topK"]),
        top_p=header["topP"],
        seed=int(header["seed"]),
        stop_tokens=frozenset(stops.tolist()),
        stop_strings=strings,
        **ends,
    )
    request.sequences = [Sequence(request, index) for index in range(request.count)]
    request.left = request.count
    return request
