"""
The next token of every row of a batch. A small model's time on a GPU is mostly that of starting its kernels, one by one: so
on CUDA a step is recorded as a graph, whose kernels start together.
"""

from __future__ import annotations

import sys
from typing import Any, Hashable, Sequence

import torch
from torch import Tensor

from .adapters import adapted
from .attention import Rows, laid_out
from .choosing import chosen_of_all, drawn_dtype
from .model import Model
from .passes import Settings


class Step:
    """@param rows keys and values of the batch"""

    #: Whether steps can be recorded, as far as is known.
    records = True

    def __init__(self, model: Model, rows: Rows, settings: Settings) -> None:
        self._model = model
        self._rows = rows
        self._settings = settings
        # A graph reads its inputs where they were when it was recorded: of each row the token, how many came before it, and
        # which of the step's adapters it has.
        self._inputs = torch.zeros(3, rows.rows, dtype=torch.long, device=model.device)
        self._drawn = torch.zeros(2, rows.rows, dtype=drawn_dtype(model.device), device=model.device)
        self._is_on_cuda = model.device.type == "cuda"
        self._graphs: dict[Hashable, tuple[Any, tuple[Tensor, Tensor]] | None] = {}
        # Graphs share what they need in between: only one runs at a time.
        self._pool = torch.cuda.graph_pool_handle() if self._is_on_cuda else None
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
        if not (self._is_on_cuda and Step.records):
            return self._scores(names, longest), None
        if self._rows.capacity != self._capacity:
            # They would read where the keys were.
            self._capacity, self._graphs = self._rows.capacity, {}
        return self._replayed((*present, self._rows.blocks_of(longest)), names, longest)

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

    def _compute(self, names: list[str], longest: int) -> tuple[Tensor, Tensor]:
        scores = self._scores(names, longest)
        return scores, chosen_of_all(scores, self._drawn)

    def _replayed(self, key: Hashable, names: list[str], longest: int) -> tuple[Tensor, Tensor]:
        """The first step of a kind runs as it is, which also makes ready what kernels need; the second is recorded."""
        if key not in self._graphs:
            self._graphs[key] = None
            return self._compute(names, longest)
        recorded = self._graphs[key]
        if recorded is None:
            graph = torch.cuda.CUDAGraph()
            try:
                recorded = self._graphs[key] = (graph, self._recorded(graph, names, longest))
            except torch.OutOfMemoryError:
                raise
            except RuntimeError as error:
                Step.records = False
                said = next(iter(str(error).splitlines()), "")
                print(f"troupe: sampling is slower, because its steps cannot be recorded: {said}", file=sys.stderr)
                return self._compute(names, longest)
        graph, results = recorded
        graph.replay()
        return results

    def _recorded(self, graph: Any, names: list[str], longest: int) -> tuple[Tensor, Tensor]:
        """`torch.cuda.graph` does the same, and gives back unused memory each time, which takes longer than all of this."""
        stream = torch.cuda.Stream(self._model.device)
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            graph.capture_begin(self._pool, capture_error_mode="thread_local")
            try:
                results = self._compute(names, longest)
            finally:
                graph.capture_end()
        torch.cuda.current_stream().wait_stream(stream)
        return results
