"""
Sampling: sequences of all requests together, one token each at a time. A request's prompt is computed once, whatever the
number of its sequences. Batches have a fixed number of rows, so that no number depends on what else is sampled.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Callable, Iterable, Mapping

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from .adapters import adapted
from .attention import Packed, Piece, Rows, laid_out, padded
from .batch import Step
from .errors import EngineError
from .model import Model
from .passes import Settings, check_tokens
from .policy import Policy

GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def _mix(z: np.ndarray) -> np.ndarray:
    """SplitMix64's finaliser (Steele, Lea and Flood, 2014)."""
    with np.errstate(over="ignore"):
        z = z + GOLDEN
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))


def mixed(seed: int, index: int) -> np.uint64:
    """A seed for one of the sequences of a request."""
    return _mix(_mix(np.array([seed], np.uint64)) ^ np.uint64(index))[0]


def uniform(seeds: np.ndarray, sequences: np.ndarray, tokens: np.ndarray) -> np.ndarray:
    """In [0, 1), of the seed and the place alone; the local engine has the same."""
    mixed = _mix(_mix(_mix(seeds.astype(np.uint64)) ^ sequences.astype(np.uint64)) ^ tokens.astype(np.uint64))
    return (mixed >> np.uint64(11)).astype(np.float64) * 2.0**-53


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


@torch.no_grad()
def choose(scores: Tensor, sequences: list[Sequence]) -> list[tuple[int, float, float]]:
    """The next token of each sequence, from its row of scores, its log-probability and the entropy, at temperature 1."""
    requests = [sequence.request for sequence in sequences]
    logprobs = scores.log_softmax(-1)
    temperature = torch.tensor([each.temperature or 1.0 for each in requests], device=scores.device)
    # The maximum is subtracted first: a tiny temperature must not overflow.
    shifted = scores - scores.amax(-1, keepdim=True)
    shares = (shifted / temperature[:, None]).softmax(-1)
    draws = uniform(
        *(
            np.array(each, np.uint64)
            for each in (
                [each.seed for each in requests],
                [sequence.index for sequence in sequences],
                [len(sequence.tokens) for sequence in sequences],
            )
        )
    )
    if scores.device.type == "mps":
        # It has no float64. A draw that float32 rounds to 1 would choose a token without a share.
        draws = np.minimum(draws.astype(np.float32), np.nextafter(np.float32(1), np.float32(0)))
    below = torch.from_numpy(draws).to(scores.device)
    tokens = _walk(shares, below)
    greedy = [index for index, each in enumerate(requests) if each.temperature == 0]
    if greedy:
        tokens[greedy] = scores[greedy].argmax(-1)
    few = [index for index, each in enumerate(requests) if each.temperature > 0 and _is_filtered(each, shares.shape[1])]
    if few:
        tokens[few] = _walk_best(shares[few], below[few], [requests[index] for index in few])
    chosen = logprobs.gather(1, tokens[:, None])[:, 0]
    # A token without a share has the logarithm −∞, and 0·(−∞) would be no number.
    entropies = -(logprobs.exp() * logprobs.clamp(min=torch.finfo(logprobs.dtype).min)).sum(-1)
    return list(zip(tokens.tolist(), chosen.tolist(), entropies.tolist()))


def _is_filtered(request: Request, vocabulary: int) -> bool:
    return 0 < request.top_k < vocabulary or request.top_p < 1


#: Numbers that are added at a time.
TERMS = 64


def _walk(shares: Tensor, draws: Tensor, reach: bool = False) -> Tensor:
    """
    The first token at which the sum of the shares exceeds the draw's part of the whole, or reaches it. It has a share.

    Sums of sums are searched from the top: `cumsum` of a row this long is slow on a GPU, and has not the same bits each time.
    """
    levels = [shares]
    while levels[-1].shape[1] > 1:
        held = F.pad(levels[-1], (0, -levels[-1].shape[1] % TERMS))
        levels.append(held.unflatten(1, (-1, TERMS)).sum(-1, dtype=draws.dtype))
    wanted = draws * levels.pop()[:, 0]
    places = torch.arange(TERMS, device=shares.device)
    below = torch.ones(TERMS, TERMS, dtype=draws.dtype, device=shares.device).triu()
    token = torch.zeros(len(shares), dtype=torch.long, device=shares.device)
    for level in reversed(levels):
        place = token[:, None] * TERMS + places
        own = level.gather(1, place.clamp(max=level.shape[1] - 1)).to(draws.dtype)
        own = torch.where(place < level.shape[1], own, 0)
        sums = own @ below
        over = sums >= wanted[:, None] if reach else sums > wanted[:, None]
        first = torch.where(over & (own > 0), places, TERMS).amin(-1)
        # Rounding may leave all sums below.
        last = torch.where(own > 0, places, 0).amax(-1)
        found = torch.where(first < TERMS, first, last)
        wanted = wanted - (sums - own).gather(1, found[:, None])[:, 0]
        token = token * TERMS + found
    return token


def _walk_best(shares: Tensor, draws: Tensor, requests: list[Request]) -> Tensor:
    """Among the most probable ones: those of equal share in the order of their ids."""
    best = shares.sort(dim=-1, descending=True, stable=True)
    size = shares.shape[1]
    ranks = torch.arange(size, device=shares.device)
    most = torch.tensor([each.top_k or size for each in requests], device=shares.device)
    values = torch.where(ranks < most[:, None], best.values, 0)
    wanted = torch.tensor([each.top_p for each in requests], device=shares.device, dtype=draws.dtype)
    enough = _walk(values, wanted, reach=True)
    kept = torch.where(ranks <= enough[:, None], values, 0)
    return best.indices.gather(1, _walk(kept, draws)[:, None])[:, 0]


#: Tokens of the prompts that a GPU computes together: alone, a short one would leave most of it idle.
TOGETHER = 1024


def _shape(request: Request) -> tuple[int, int]:
    """
    How many prompts are computed with one of this length, and the tokens of each with its padding. It depends on nothing
    else, and neither do the numbers: places without a prompt are computed, too.
    """
    length, model = len(request.prompt), request.policy.model
    wide = min(padded(length), model.max_length)
    together = TOGETHER // wide if model.device.type != "cpu" else 0
    return (together, wide) if together > 1 else (1, length)


@dataclass(eq=False)
class Batch:
    """Sequences of one model, each in a row."""

    model: Model
    rows: Rows
    step: Step
    held: list[Sequence | None]
    #: Of its keys and values, when its longest sequence ends.
    most_bytes: int = 0

    @property
    def free(self) -> list[int]:
        return [row for row, sequence in enumerate(self.held) if sequence is None]


@dataclass(eq=False)
class Waiting:
    """Sequences whose prompt is computed, and which wait for a row."""

    model: Model
    #: Keys and values of all prompts that were computed together.
    captured: dict[int, tuple[Tensor, Tensor]]
    start: int
    length: int
    sequences: list[Sequence]

    @property
    def most(self) -> int:
        """Tokens that a sequence can have in a row: the last one is never put there."""
        return self.length + self.sequences[0].request.most - 1


class Sampler:
    """@param rows of a batch; @param most bytes of keys and values, which the only batch of a model may exceed"""

    #: Of a library that samples.
    description: str | None = None

    def __init__(self, settings: Settings, rows: int, most: int) -> None:
        self._settings = settings
        self.rows = rows
        self.most = most
        self._requests: list[Request] = []
        self._waiting: dict[Model, list[Waiting]] = {}
        self._batches: dict[Model, list[Batch]] = {}

    def submit(self, request: Request) -> None:
        self._requests.append(request)

    @property
    def idle(self) -> bool:
        return not (self._requests or any(self._waiting.values()) or any(self._batches.values()))

    def keep(self, policies: Iterable[Policy]) -> None:
        """Nothing is kept between requests."""

    def cancel(self, request_id: int) -> None:
        error = EngineError("cancelled", "Sampling was cancelled.")
        for request in self._all():
            if request.id == request_id:
                request.end(error)

    def _all(self) -> list[Request]:
        held = [each for batches in self._batches.values() for batch in batches for each in batch.held if each]
        waiting = [each for lists in self._waiting.values() for one in lists for each in one.sequences]
        return [*self._requests, *(each.request for each in [*waiting, *held])]

    @torch.no_grad()
    def step(self) -> None:
        """A token for every sequence that has a row."""
        try:
            self._drop_ended()
            self._admit()
            for batches in self._batches.values():
                for batch in batches:
                    self._decode(batch)
            self._drop_ended()
        except (EngineError, RuntimeError, MemoryError) as error:
            # One batch fails with all: what is in the caches then is not known.
            for request in self._all():
                request.end(as_engine_error(error, "sampling"))
            self._requests, self._waiting, self._batches = [], {}, {}

    def _drop_ended(self) -> None:
        self._requests = [request for request in self._requests if not request.over]
        for lists in self._waiting.values():
            for one in lists:
                one.sequences = [each for each in one.sequences if not each.request.over]
            lists[:] = [one for one in lists if one.sequences]
        for batches in self._batches.values():
            for batch in batches:
                batch.held = [None if each is None or each.request.over else each for each in batch.held]
            batches[:] = [batch for batch in batches if any(batch.held)]

    def _admit(self) -> None:
        while True:
            for model, lists in self._waiting.items():
                while lists and self._place(model, lists[0]):
                    if not lists[0].sequences:
                        lists.pop(0)
            if not self._requests or any(self._waiting.values()) or not self._has_row(self._requests[0]):
                return
            alike = self._alike()
            for started in self._start(alike):
                self._waiting.setdefault(started.model, []).append(started)
            # Not before: whatever fails ends the requests that are listed.
            self._requests = [each for each in self._requests if each not in alike]

    def _has_row(self, request: Request) -> bool:
        """Otherwise its prompt waits to be computed: the keys and values of a long one are large."""
        batches = self._batches.get(request.policy.model, [])
        if not batches:
            return True
        most = len(request.prompt) + request.most - 1
        new = self._empty(request.policy.model, batches)
        return any(each.free and self._fits(each, most) for each in [*batches, new])

    def _alike(self) -> list[Request]:
        """The next request, and those whose prompts can be computed with its own."""
        first = self._requests[0]
        shape = _shape(first)
        found = [each for each in self._requests if each.policy is first.policy and _shape(each) == shape][: shape[0]]
        return found

    def _start(self, requests: list[Request]) -> list[Waiting]:
        """Computes prompts, and the first token of each sequence."""
        policy = requests[0].policy
        model = policy.model
        count, length = _shape(requests[0])
        layout = Packed([Piece(at * length, length, ()) for at in range(count)], model.device, capture=True)
        prompts = np.zeros((count, length), np.int64)
        ends = np.arange(count) * length
        for place, request in enumerate(requests):
            prompts[place, : len(request.prompt)] = request.prompt
            ends[place] += len(request.prompt) - 1
        tokens, last = (torch.from_numpy(each).to(model.device) for each in (prompts.reshape(1, -1), ends))
        positions = torch.arange(length, device=model.device).repeat(count)[None]
        with adapted(policy.adapter), laid_out(layout), self._settings.casting(model):
            scores = model.scores(model.states(tokens, positions)[0].index_select(0, last))
        assert layout.captured is not None
        sequences = [each for request in requests for each in request.sequences]
        rows = [place for place, request in enumerate(requests) for _ in request.sequences]
        left: set[Sequence] = set()
        for at in range(0, len(rows), self.rows):
            part = slice(at, at + self.rows)
            left.update(self._append(sequences[part], scores[rows[part]]))
        starts = enumerate([each for each in request.sequences if each in left] for request in requests)
        return [
            Waiting(model, layout.captured, place * length, len(requests[place].prompt), own) for place, own in starts if own
        ]

    def _place(self, model: Model, waiting: Waiting) -> bool:
        """Moves sequences into free rows. @returns whether all have one now"""
        batches = self._batches.setdefault(model, [])
        most = waiting.most
        while waiting.sequences:
            batch = next((each for each in batches if each.free and self._fits(each, most)), None)
            if batch is None:
                batch = self._empty(model, batches)
                if not self._fits(batch, most):
                    return False
                batches.append(batch)
            batch.rows.most = max(batch.rows.most, most)
            taken = batch.free[: len(waiting.sequences)]
            batch.rows.fill(taken, waiting.captured, waiting.start, waiting.start + waiting.length)
            for row in taken:
                batch.held[row] = waiting.sequences.pop(0)
            batch.most_bytes = batch.rows.most_bytes(most)
        return True

    def _empty(self, model: Model, others: list[Batch]) -> Batch:
        rows = others[0].rows.empty() if others else Rows(self.rows)
        return Batch(model, rows, Step(model, rows, self._settings), [None] * self.rows)

    def _fits(self, batch: Batch, most: int) -> bool:
        """Whether there is room for all batches at their longest, once this one has a sequence of so many tokens."""
        others = [each for batches in self._batches.values() for each in batches if each is not batch]
        if all(each.model is not batch.model for each in others):
            return True
        needed = batch.rows.most_bytes(most)
        return needed + sum(each.most_bytes for each in others) <= self.most

    @property
    def bytes(self) -> int:
        return sum(batch.rows.bytes for batches in self._batches.values() for batch in batches)

    def _decode(self, batch: Batch) -> None:
        # An empty row has a token at its first place, which nothing reads.
        lengths = [len(each.request.prompt) + len(each.tokens) - 1 if each else 0 for each in batch.held]
        policies = [each.request.policy if each else None for each in batch.held]
        scores = batch.step.scores(
            [each.tokens[-1] if each else 0 for each in batch.held],
            lengths,
            [(each.adapter, each) if each and each.adapter is not None else None for each in policies],
        )
        rows = [row for row, each in enumerate(batch.held) if each]
        sequences = [each for each in batch.held if each]
        left = set(self._append(sequences, scores[rows]))
        batch.held = [each if each in left else None for each in batch.held]

    def _append(self, sequences: list[Sequence], scores: Tensor) -> list[Sequence]:
        """@returns those that are not over"""
        chosen = zip(sequences, choose(scores, sequences))
        return [sequence for sequence, found in chosen if sequence.grow(*found)]


#: What the allocators of CPUs and GPUs say; only some have a type of their own.
NO_MEMORY = ("allocate memory", "not enough memory", "out of memory", "bad_alloc", "ALLOC_FAILED")
#: What needs less memory, by verb.
SMALLER = {
    "sampling": "engine.rows or engine.cacheBytes",
    "forward": "engine.trunkTokens or engine.headTokens",
    "forwardBackward": "engine.trunkTokens or engine.headTokens",
}


def as_engine_error(error: Exception, what: str) -> EngineError:
    if isinstance(error, EngineError):
        return error
    text = str(error)
    if isinstance(error, (torch.OutOfMemoryError, MemoryError)) or any(each in text for each in NO_MEMORY):
        advice = f"lower {SMALLER[what]}" if what in SMALLER else "use adapters or a smaller model"
        said = next(iter(text.splitlines()), "no details")[:300]
        return EngineError("no_memory", f"{what} ran out of memory and changed nothing: {advice} ({said})")
    return EngineError("internal", f"{what}: {type(error).__name__}: {text[:1000]}")
