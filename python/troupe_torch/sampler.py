"""
Sampling: sequences of all requests together, one token each at a time. A request's prompt is computed once, whatever the
number of its sequences. Batches have a fixed number of rows, so that no number depends on what else is sampled.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Iterable

import numpy as np
import torch
from torch import Tensor

from .adapters import adapted
from .attention import Packed, Piece, Rows, laid_out, padded
from .batch import Step
from .choosing import choose, chosen_of_some, drawn_for
from .errors import EngineError
from .model import Model
from .passes import Settings
from .policy import Policy
from .request import Request, Sequence

#: Tokens of the prompts that a GPU computes together: alone, a short one would leave most of it idle.
TOGETHER = 1024


def _shape(request: Request) -> tuple[int, int]:
    """
    How many prompts are computed with one of this length, and the tokens of each with its padding. It depends on nothing
    else, and neither do the numbers: places without a prompt are computed, too.
    """
    length, model = len(request.prompt), request.policy.model
    wide = min(padded(length), model.max_length)
    together = TOGETHER // wide if are_together(model.device) else 0
    return (together, wide) if together > 1 else (1, length)


def are_together(device: torch.device) -> bool:
    """Whether short prompts are computed together."""
    return device.type != "cpu"


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

    @property
    def in_use(self) -> bool:
        return any(self.held)


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
        return not (self._requests or any(self._waiting.values()) or any(each.in_use for each in self._all_batches()))

    def keep(self, policies: Iterable[Policy]) -> None:
        """Frees what only other policies need."""
        self.release()
        models = {policy.model for policy in policies}
        for held in (self._batches, self._waiting):
            for model in [model for model, lists in held.items() if not lists and model not in models]:
                del held[model]

    def release(self, but: Batch | None = None) -> None:
        """Frees the memory of batches that wait for the next requests: to use them again saves recording their steps."""
        for batches in self._batches.values():
            batches[:] = [batch for batch in batches if batch.in_use or batch is but]

    def _all_batches(self) -> list[Batch]:
        return [each for batches in self._batches.values() for each in batches]

    def cancel(self, request_id: int) -> None:
        error = EngineError("cancelled", "Sampling was cancelled.")
        for request in self._all():
            if request.id == request_id:
                request.end(error)

    def _all(self) -> list[Request]:
        held = [each for batch in self._all_batches() for each in batch.held if each]
        waiting = [each for lists in self._waiting.values() for one in lists for each in one.sequences]
        return [*self._requests, *(each.request for each in [*waiting, *held])]

    @torch.no_grad()
    def step(self) -> None:
        """A token for every sequence that has a row."""
        try:
            self._drop_ended()
            self._admit()
            for batch in self._all_batches():
                if batch.in_use:
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
        for batch in self._all_batches():
            batch.held = [None if each is None or each.request.over else each for each in batch.held]
            if not batch.in_use:
                batch.most_bytes = batch.rows.most = 0

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
        model = request.policy.model
        if any(each.free and self._fits(model, each.rows, most) for each in batches):
            return True
        return self._fits(model, batches[0].rows.empty(), most)

    def _alike(self) -> list[Request]:
        """The next request, and those whose prompts can be computed with its own."""
        first = self._requests[0]
        shape = _shape(first)
        return [each for each in self._requests if each.policy is first.policy and _shape(each) == shape][: shape[0]]

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
            batch = next((each for each in batches if each.free and self._fits(model, each.rows, most)), None)
            if batch is None:
                rows = batches[0].rows.empty() if batches else Rows(self.rows)
                if not self._fits(model, rows, most):
                    return False
                self.release()
                batch = Batch(model, rows, Step(model, rows, self._settings), [None] * self.rows)
                batches.append(batch)
            elif max(batch.rows.most_bytes(most), batch.rows.bytes) + self._held_beside(batch) > self.most:
                # A batch that waits may have grown for longer sequences than these.
                is_larger = not batch.in_use and batch.rows.bytes > batch.rows.empty().most_bytes(most)
                self.release(but=None if is_larger else batch)
                if is_larger:
                    continue
            batch.rows.most = max(batch.rows.most, most)
            taken = batch.free[: len(waiting.sequences)]
            batch.rows.fill(taken, waiting.captured, waiting.start, waiting.start + waiting.length)
            for row in taken:
                batch.held[row] = waiting.sequences.pop(0)
            batch.most_bytes = batch.rows.most_bytes(most)
        return True

    def _fits(self, model: Model, rows: Rows, most: int) -> bool:
        """Whether there is room for all batches at their longest, once these rows have a sequence of so many tokens."""
        others = [each for each in self._all_batches() if each.in_use and each.rows is not rows]
        if all(each.model is not model for each in others):
            return True
        held = sum(max(each.most_bytes, each.rows.bytes) for each in others)
        return max(rows.most_bytes(most), rows.bytes) + held <= self.most

    def _held_beside(self, batch: Batch) -> int:
        """Bytes of the other batches, also of those that wait."""
        return sum(max(each.most_bytes, each.rows.bytes) for each in self._all_batches() if each is not batch)

    @property
    def bytes(self) -> int:
        return sum(batch.rows.bytes for batch in self._all_batches())

    def _decode(self, batch: Batch) -> None:
        # An empty row has a token at its first place, which nothing reads.
        lengths = [len(each.request.prompt) + len(each.tokens) - 1 if each else 0 for each in batch.held]
        any_policy = next(each.request.policy for each in batch.held if each)
        policies = [each.request.policy if each else any_policy for each in batch.held]
        drawn = drawn_for(batch.held, batch.model.device)
        # Nothing needs to be chosen for an empty row, but a graph has all rows.
        scores, chosen = batch.step.next(
            [each.tokens[-1] if each else 0 for each in batch.held],
            lengths,
            [(each.adapter or "", each) for each in policies],
            drawn,
        )
        if chosen is None:
            rows = [row for row, each in enumerate(batch.held) if each]
            left = set(self._append([each for each in batch.held if each], scores[rows]))
        else:
            found = chosen_of_some(scores, drawn, chosen, batch.held)
            left = {each for each, own in zip(batch.held, found) if each and each.grow(*own)}
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
