"""
The next token of every row of a batch. A small model's time on a GPU is mostly that of starting its kernels, one by one: so
on CUDA a step is recorded as a graph, whose kernels start together.
"""

from __future__ import annotations

import sys
from functools import cache, partial
from typing import Any, Callable, Hashable, Sequence
from weakref import WeakSet

import torch
from torch import Tensor

from .adapters import adapted
from .attention import Rows, laid_out
from .choosing import chosen_of_all, drawn_dtype
from .model import Model
from .passes import Settings

#: Scores, and what is chosen of them.
Results = tuple[Tensor, Tensor]

#: Of a batch. Steps differ by the adapters in them and by length.
MOST_GRAPHS = 64

#: Those whose steps cannot be recorded.
_unrecorded: WeakSet[Model] = WeakSet()


class Step:
    """Gives each row of a batch its next token. @param rows keys and values of the batch"""

    def __init__(self, model: Model, rows: Rows, settings: Settings) -> None:
        self._model = model
        self._rows = rows
        self._settings = settings
        # A graph reads its inputs where they were when it was recorded: of each row the token, how many came before it, and
        # which of the step's adapters it has.
        self._inputs = torch.zeros(3, rows.rows, dtype=torch.long, device=model.device)
        self._drawn = torch.zeros(2, rows.rows, dtype=drawn_dtype(model.device), device=model.device)
        #: By what differs between steps. None: it ran once, and is recorded the next time.
        self._replays: dict[Hashable, Callable[[], Results] | None] = {}
        self._capacity = 0

    @torch.no_grad()
    def next(
        self, tokens: Sequence[int], lengths: Sequence[int], adapters: Sequence[tuple[str, object]], drawn: Tensor
    ) -> tuple[Tensor, Tensor | None]:
        """
        The scores of each row, and on CUDA what is chosen of them (choosing.py); both valid until the next step.
        @param adapters of each row the name, empty for none, and what tells it from a later one of the same name
        """
        longest = max(lengths)
        self._rows.reserve(longest + 1)
        present = sorted(set(adapters), key=lambda each: each[0])
        places = {each: place for place, each in enumerate(present)}
        self._inputs.copy_(torch.tensor([tokens, lengths, [places[each] for each in adapters]]))
        self._drawn.copy_(drawn)
        names = [name for name, _ in present]
        if not is_recorded(self._model.device) or self._model in _unrecorded:
            return self._scores(names, longest), None
        if self._rows.capacity != self._capacity:
            # They would read where the keys were.
            self._capacity, self._replays = self._rows.capacity, {}
        return self._replayed((*present, self._rows.blocks_of(longest)), partial(self._compute, names, longest))

    def _scores(self, names: list[str], longest: int) -> Tensor:
        tokens, lengths, own = self._inputs
        self._rows.advance(lengths, longest)
        if len(names) == 1:
            # The same numbers as below, with less to compute.
            active = names[0] or None
        else:
            active = {name: own == place for place, name in enumerate(names) if name != ""}
        with adapted(active), laid_out(self._rows), self._settings.casting(self._model):
            return self._model.scores(self._model.states(tokens[:, None], lengths[:, None])[:, 0])

    def _compute(self, names: list[str], longest: int) -> Results:
        scores = self._scores(names, longest)
        return scores, chosen_of_all(scores, self._drawn)

    def _replayed(self, key: Hashable, compute: Callable[[], Results]) -> Results:
        """The first step of a kind runs as it is, which also makes ready what kernels need; the second is recorded."""
        if key not in self._replays:
            if len(self._replays) == MOST_GRAPHS:
                del self._replays[next(iter(self._replays))]
            self._replays[key] = None
            return compute()
        replay = self._replays[key]
        if replay is None:
            try:
                replay = self._replays[key] = recorded(self._model.device, compute)
            except torch.OutOfMemoryError:
                raise
            except RuntimeError as error:
                _unrecorded.add(self._model)
                said = next(iter(str(error).splitlines()), "")
                print(f"troupe: sampling is slower, because its steps cannot be recorded: {said}", file=sys.stderr)
                return compute()
        return replay()


def is_recorded(device: torch.device) -> bool:
    return device.type == "cuda"


def recorded(device: torch.device, compute: Callable[[], Results]) -> Callable[[], Results]:
    """
    Computes the same again, with what is then in the tensors that it read.
    @throws RuntimeError if it waits for the GPU, or copies to it
    """
    stream, pool, _ = _recorder(device)
    graph = torch.cuda.CUDAGraph()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        graph.capture_begin(pool, capture_error_mode="thread_local")
        try:
            results = compute()
        finally:
            graph.capture_end()
    torch.cuda.current_stream().wait_stream(stream)

    def replay() -> Results:
        graph.replay()
        return results

    return replay


@cache
def _recorder(device: torch.device) -> tuple[Any, Any, Any]:
    """
    A stream and a pool for all graphs, of which one runs at a time: only graphs with both share memory. The first graph
    computes nothing, but keeps the pool, which would take no others once all of its graphs are gone.
    """
    stream, pool, first = torch.cuda.Stream(device), torch.cuda.graph_pool_handle(), torch.cuda.CUDAGraph()
    with torch.cuda.stream(stream):
        first.capture_begin(pool, capture_error_mode="thread_local")
        torch.zeros(1, device=device)
        first.capture_end()
    return stream, pool, first
