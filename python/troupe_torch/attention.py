"""
Attention for every model of transformers that asks its attention interface. What attends to what is not a mask but a
layout, set around a pass of the model: packed sequences without padding, whose continuations share a prompt, or one new
token for each row of a batch with cached keys and values.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Callable, Iterator, Protocol, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor
from transformers import AttentionInterface

from .errors import EngineError

NAME = "troupe"


@dataclass(frozen=True)
class Rule:
    """How a layer scores: its factor, how far back it sees, and the bound of its scores."""

    scaling: float
    window: int | None
    softcap: float | None


class Layout(Protocol):
    def attend(self, layer: int, query: Tensor, key: Tensor, value: Tensor, rule: Rule) -> Tensor:
        """[batch, heads, tokens, size] each, fewer heads for keys and values; the result: the query's heads, the value's size."""
        ...


#: Called in each layer, of gradients too: a pass that takes long says so that it advances.
on_layer: Callable[[], None] = lambda: None

# One at a time. A plain global: recomputed layers may run on another thread.
_current: Layout | None = None


@contextmanager
def laid_out(layout: Layout) -> Iterator[None]:
    global _current
    before, _current = _current, layout
    try:
        yield
    finally:
        _current = before


def _interface(
    module: torch.nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    scaling: float | None = None,
    sliding_window: int | None = None,
    softcap: float | None = None,
    **others: Any,
) -> tuple[Tensor, None]:
    layer = int(module.layer_idx)
    on_layer()
    if query.requires_grad:
        query.register_hook(lambda _: on_layer())
    if _current is None:
        raise EngineError("internal", "attention without a layout")
    if others.get("s_aux") is not None or others.get("position_bias") is not None:
        raise EngineError("unsupported", "its attention has sinks or a position bias")
    _check_window(module, layer, sliding_window)
    rule = Rule(scaling if scaling is not None else query.shape[-1] ** -0.5, sliding_window, softcap)
    return _current.attend(layer, query, key, value, rule).transpose(1, 2).contiguous(), None


def _check_window(module: torch.nn.Module, layer: int, window: int | None) -> None:
    """A model whose window is only in its mask would see too much, in silence."""
    config = module.config
    types = getattr(config, "layer_types", None)
    kind = types[layer] if types is not None else None
    if kind is None:
        has_window = getattr(config, "sliding_window", None) is not None and getattr(config, "use_sliding_window", True)
    elif kind in ("full_attention", "sliding_attention"):
        has_window = kind == "sliding_attention"
    else:
        raise EngineError("unsupported", f"its layers have {kind}")
    if has_window and window is None:
        raise EngineError("unsupported", "its attention does not say how far back it sees")


AttentionInterface.register(NAME, _interface)


@dataclass(frozen=True)
class Piece:
    """A prompt and its continuations, one after the other from `start`."""

    start: int
    prompt: int
    continuations: tuple[int, ...]


@dataclass(frozen=True)
class Segment:
    """Tokens that follow `before` ones of a prompt, of which they see the keys."""

    prompt: int
    before: int
    start: int
    length: int


@dataclass(frozen=True)
class Group:
    """Segments of similar length, each padded to the longest; padding is at the end, where no token sees it."""

    queries: Tensor
    keys: Tensor
    #: Which of the padded queries there are.
    present: Tensor
    #: Of each segment.
    before: Tensor
    plain: bool

    def mask(self, window: int | None) -> Tensor:
        device = self.queries.device
        own = self.before[:, None, None] + torch.arange(self.queries.shape[1], device=device)[:, None]
        others = torch.arange(self.keys.shape[1], device=device)
        seen = others <= own
        if window is not None:
            seen &= others > own - window
        # Padded queries see everything: one that saw nothing would have no scores, and no number as its gradient.
        return (seen | ~self.present[:, :, None])[:, None]


class Packed:
    """Pieces in one row, without padding but in attention. `capture` keeps the keys and values of every layer."""

    def __init__(self, pieces: Sequence[Piece], device: torch.device, capture: bool = False) -> None:
        self.captured: dict[int, tuple[Tensor, Tensor]] | None = {} if capture else None
        buckets: dict[tuple[int, int, bool], list[Segment]] = {}
        for segment in _segments(pieces):
            key = (padded(segment.length), padded(segment.before + segment.length), segment.before == 0)
            buckets.setdefault(key, []).append(segment)
        self._groups = [_group(segments, key, device) for key, segments in buckets.items()]
        self._masks: dict[tuple[int, int | None], Tensor] = {}
        places = torch.cat([group.queries.flatten()[group.present.flatten()] for group in self._groups])
        #: Where each token of the row is among the groups' results.
        self._order = torch.argsort(places)

    def attend(self, layer: int, query: Tensor, key: Tensor, value: Tensor, rule: Rule) -> Tensor:
        if self.captured is not None:
            self.captured[layer] = (key.detach(), value.detach())
        # [tokens, heads, size]
        rows = [each[0].transpose(0, 1) for each in (query, key, value)]
        parts = [self._attend(group, *rows, rule) for group in self._groups]
        whole = torch.cat(parts).index_select(0, self._order)
        return whole.transpose(0, 1)[None]

    def _mask(self, group: Group, window: int | None) -> Tensor:
        """The same for all layers with this window."""
        key = (id(group), window)
        if key not in self._masks:
            self._masks[key] = group.mask(window)
        return self._masks[key]

    def _attend(self, group: Group, query: Tensor, key: Tensor, value: Tensor, rule: Rule) -> Tensor:
        """[queries that are present, heads, size]"""
        own = [
            each.index_select(0, places.flatten()).unflatten(0, places.shape).transpose(1, 2)
            for each, places in ((query, group.queries), (key, group.keys), (value, group.keys))
        ]
        window = rule.window if rule.window is not None and rule.window < group.keys.shape[1] else None
        plain = group.plain and window is None
        if rule.softcap is not None:
            found = _bounded(*own, self._mask(group, window), rule)
        else:
            shares = own[0].shape[1] // own[1].shape[1]
            if shares > 1 and attends_at_once(query.device) and not (plain and query.dtype == torch.bfloat16):
                # Only the kernel of flash attention shares heads there; the others would make way for one that keeps all scores.
                own = [own[0], *(each.repeat_interleave(shares, 1) for each in own[1:])]
                shares = 1
            found = F.scaled_dot_product_attention(
                *own,
                attn_mask=None if plain else self._mask(group, window),
                is_causal=plain,
                scale=rule.scaling,
                enable_gqa=shares > 1,
            )
        return found.transpose(1, 2)[group.present]


def _segments(pieces: Sequence[Piece]) -> Iterator[Segment]:
    for piece in pieces:
        if len(piece.continuations) == 1:
            # As if it were one sequence.
            yield Segment(piece.start, 0, piece.start, piece.prompt + piece.continuations[0])
            continue
        yield Segment(piece.start, 0, piece.start, piece.prompt)
        at = piece.start + piece.prompt
        for length in piece.continuations:
            yield Segment(piece.start, piece.prompt, at, length)
            at += length


def padded(length: int) -> int:
    """At most an eighth more for long ones."""
    step = 16
    while step * 8 < length:
        step *= 2
    return -(-length // step) * step


def _group(segments: Sequence[Segment], key: tuple[int, int, bool], device: torch.device) -> Group:
    longest, most, plain = key
    queries = torch.zeros(len(segments), longest, dtype=torch.long)
    keys = torch.zeros(len(segments), most, dtype=torch.long)
    present = torch.zeros(len(segments), longest, dtype=torch.bool)
    for row, each in enumerate(segments):
        own = torch.arange(each.start, each.start + each.length)
        queries[row, : each.length] = own
        present[row, : each.length] = True
        keys[row, : each.before] = torch.arange(each.prompt, each.prompt + each.before)
        keys[row, each.before : each.before + each.length] = own
    before = torch.tensor([each.before for each in segments])
    return Group(*(each.to(device) for each in (queries, keys, present, before)), plain)


def _bounded(query: Tensor, key: Tensor, value: Tensor, mask: Tensor, rule: Rule) -> Tensor:
    assert rule.softcap is not None
    groups = query.shape[1] // key.shape[1]
    key, value = key.repeat_interleave(groups, 1), value.repeat_interleave(groups, 1)
    scores = query.float() @ key.float().transpose(2, 3) * rule.scaling
    scores = torch.tanh(scores / rule.softcap) * rule.softcap
    return scores.masked_fill(~mask, -torch.inf).softmax(-1).to(value.dtype) @ value


def attends_at_once(device: torch.device) -> bool:
    """Whether a token attends to its row in one kernel. On a processor this would depend on how long the longest row is."""
    return device.type == "cuda"


class Rows:
    """
    Keys and values of a fixed number of sequences, one row each. Every product has the same shape whatever the other rows
    are and however long: so a row's numbers never depend on its neighbours. @param block tokens whose keys are multiplied
    together
    """

    #: Tokens that its longest row may have in the end: room doubles no further.
    most = 0

    def __init__(self, rows: int, block: int = 128) -> None:
        self.rows = rows
        self.block = block
        self.capacity = 0
        self._keys: dict[int, Tensor] = {}
        self._values: dict[int, Tensor] = {}
        self._lengths: Tensor | None = None
        self._longest = 0
        #: By window, for one pass.
        self._masks: dict[int | None, Tensor] = {}
        #: Bytes of a token's keys and values, of all layers.
        self._of_token = 0

    @property
    def bytes(self) -> int:
        return sum(each.nbytes for each in [*self._keys.values(), *self._values.values()])

    def empty(self) -> "Rows":
        """Of the same model."""
        found = Rows(self.rows, self.block)
        found._of_token = self._of_token
        return found

    def most_bytes(self, most: int) -> int:
        """What it will need once a row has so many tokens. Known once rows of the model were filled."""
        return self.rows * self._whole_blocks(max(self.most, most)) * self._of_token

    def _whole_blocks(self, tokens: int) -> int:
        return -(-tokens // self.block) * self.block

    def fill(self, rows: Sequence[int], captured: dict[int, tuple[Tensor, Tensor]], start: int, end: int) -> None:
        """Puts the keys and values of a prompt into rows."""
        self.reserve(end - start)
        self._of_token = sum(each.shape[1] * each.shape[3] * each.itemsize for pair in captured.values() for each in pair)
        for layer, (key, value) in captured.items():
            if layer not in self._keys:
                shape = (self.rows, key.shape[1], self.capacity, key.shape[3])
                self._keys[layer], self._values[layer] = key.new_zeros(shape), value.new_zeros(*shape[:3], value.shape[3])
        # A model that was not asked for its attention has captured nothing.
        places = torch.tensor(rows, device=next((key.device for key, _ in captured.values()), None))
        for layer, (key, value) in captured.items():
            for held, own in ((self._keys[layer], key), (self._values[layer], value)):
                held[places, :, : end - start] = own[0, :, start:end]
                # Those of a policy that diverged would be no numbers, also times zero.
                held[places, :, end - start :] = 0

    def reserve(self, length: int) -> None:
        """Room for so many tokens in each row."""
        if length <= self.capacity:
            return
        self.capacity = self._whole_blocks(max(length, min(2 * self.capacity, self.most)))
        for cache in (self._keys, self._values):
            for layer, held in cache.items():
                wider = held.new_zeros(held.shape[0], held.shape[1], self.capacity, held.shape[3])
                wider[:, :, : held.shape[2]] = held
                cache[layer] = wider

    def blocks_of(self, longest: int) -> int:
        """Blocks of keys that a pass multiplies, if it adds a token after so many."""
        return longest // self.block + 1

    def advance(self, lengths: Tensor, longest: int) -> None:
        """The next pass adds one token to each row, after so many, for which there is room. @param longest the most of them"""
        self._lengths, self._longest, self._masks = lengths, longest, {}

    def _mask(self, window: int | None, width: int, like: Tensor) -> Tensor:
        """What is added to scores, the same for all layers with this window."""
        if window not in self._masks:
            assert self._lengths is not None
            own, places = self._lengths[:, None], torch.arange(width, device=like.device)
            hidden = places > own if window is None else (places > own) | (places <= own - window)
            self._masks[window] = like.new_zeros(hidden.shape).masked_fill_(hidden, -torch.inf)[:, None, None]
        return self._masks[window]

    def attend(self, layer: int, query: Tensor, key: Tensor, value: Tensor, rule: Rule) -> Tensor:
        keys, values, lengths = self._keys[layer], self._values[layer], self._lengths
        assert lengths is not None
        rows = torch.arange(self.rows, device=query.device)
        keys[rows, :, lengths] = key[:, :, 0]
        values[rows, :, lengths] = value[:, :, 0]
        if attends_at_once(query.device) and rule.softcap is None:
            return self._at_once(query, keys, values, rule)
        return self._in_blocks(query, keys, values, rule)

    def _at_once(self, query: Tensor, keys: Tensor, values: Tensor, rule: Rule) -> Tensor:
        """One kernel, which goes through the keys of a row in order: what is masked at their end adds exact zeros, too."""
        width = self.block * self.blocks_of(self._longest)
        found = F.scaled_dot_product_attention(
            query.reshape(self.rows, keys.shape[1], -1, query.shape[-1]),
            keys[:, :, :width],
            values[:, :, :width],
            attn_mask=self._mask(rule.window, width, query),
            scale=rule.scaling,
        )
        return found.reshape(*query.shape[:-1], -1)

    def _in_blocks(self, query: Tensor, keys: Tensor, values: Tensor, rule: Rule) -> Tensor:
        lengths, heads = self._lengths, keys.shape[1]
        assert lengths is not None
        grouped = query.reshape(self.rows * heads, -1, query.shape[-1])
        scores, contents = [], []
        for at in range(0, self._longest + 1, self.block):
            block_keys, block_values = (each[:, :, at : at + self.block].flatten(0, 1) for each in (keys, values))
            scores.append((grouped @ block_keys.transpose(1, 2)).float() * rule.scaling)
            contents.append(block_values)
        whole = torch.cat(scores, dim=2).view(self.rows, heads, grouped.shape[1], -1)
        if rule.softcap is not None:
            whole = torch.tanh(whole / rule.softcap) * rule.softcap
        places = torch.arange(whole.shape[-1], device=query.device)[None]
        seen = places <= lengths[:, None]
        if rule.window is not None:
            seen &= places > lengths[:, None] - rule.window
        whole = whole.masked_fill(~seen[:, None, None], -torch.inf)
        weights = torch.exp(whole - whole.amax(-1, keepdim=True)).view(self.rows * heads, grouped.shape[1], -1)
        # Blocks are added in order, so that those after a row's end add exact zeros.
        total, sums = None, None
        for block, content in zip(weights.split(self.block, dim=2), contents):
            part, count = block.to(content.dtype) @ content, block.sum(-1, keepdim=True)
            total, sums = (part.float(), count) if total is None else (total + part, sums + count)
        assert total is not None and sums is not None
        # Values may be of another size than queries.
        return (total / sums).to(query.dtype).view(*query.shape[:-1], -1)
