"""The next tokens, of scores: their draws depend on seeds and places alone."""

from __future__ import annotations

from typing import Sequence as Several

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from .request import Request, Sequence

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


def drawn_dtype(device: torch.device) -> torch.dtype:
    """Apple's GPU has no float64."""
    return torch.float32 if device.type == "mps" else torch.float64


def drawn_for(sequences: Several[Sequence | None], device: torch.device) -> Tensor:
    """[2, rows] on the processor: temperature and draw, also of rows without a sequence."""
    requests = [each.request if each else None for each in sequences]
    places = (
        [each.seed if each else 0 for each in requests],
        [each.index if each else 0 for each in sequences],
        [len(each.tokens) if each else 0 for each in sequences],
    )
    draws = uniform(*(np.array(each, np.uint64) for each in places))
    found = torch.from_numpy(np.stack([[each.temperature if each else 1.0 for each in requests], draws]))
    if drawn_dtype(device) == torch.float64:
        return found
    # A draw that float32 rounds to 1 would choose a token without a share.
    below_one = np.nextafter(np.float32(1), np.float32(0)).item()
    return found.float().clamp(max=torch.tensor([np.inf, below_one])[:, None])


@torch.no_grad()
def choose(scores: Tensor, sequences: list[Sequence]) -> list[tuple[int, float, float]]:
    """The next token of each sequence, from its row of scores, its log-probability and the entropy, at temperature 1."""
    drawn = drawn_for(sequences, scores.device)
    return chosen_of_some(scores, drawn, chosen_of_all(scores, drawn.to(scores.device)), sequences)


def chosen_of_all(scores: Tensor, drawn: Tensor) -> Tensor:
    """[3, rows]: token, log-probability, entropy; as if all tokens could be drawn. Nothing in it waits for a GPU."""
    logprobs = scores.log_softmax(-1)
    temperature, draws = drawn
    is_greedy = temperature == 0
    tokens = _walk(_shares(scores, torch.where(is_greedy, 1, temperature)), draws)
    tokens = torch.where(is_greedy, scores.argmax(-1), tokens)
    own = logprobs.gather(1, tokens[:, None])[:, 0]
    # A token without a share has the logarithm −∞, and 0·(−∞) would be no number.
    entropies = -(logprobs.exp() * logprobs.clamp(min=torch.finfo(logprobs.dtype).min)).sum(-1)
    return torch.stack([tokens.to(drawn.dtype), own.to(drawn.dtype), entropies.to(drawn.dtype)])


def chosen_of_some(
    scores: Tensor, drawn: Tensor, chosen: Tensor, sequences: Several[Sequence | None]
) -> list[tuple[int, float, float]]:
    """
    With those sequences drawn again of which only the most probable tokens may be.
    @param drawn on the processor
    """
    requests = [each.request if each else None for each in sequences]
    few = [at for at, each in enumerate(requests) if each and each.temperature > 0 and _is_filtered(each, scores.shape[1])]
    if few:
        own, (temperature, draws) = scores[few], drawn[:, few].to(scores.device)
        tokens = _walk_best(_shares(own, temperature), draws, [each for at in few if (each := requests[at])])
        logprobs = own.log_softmax(-1).gather(1, tokens[:, None])[:, 0]
        chosen = chosen.clone()
        chosen[:2, few] = torch.stack([tokens.to(chosen.dtype), logprobs.to(chosen.dtype)])
    return [(int(token), logprob, entropy) for token, logprob, entropy in zip(*chosen.tolist())]


def _shares(scores: Tensor, temperature: Tensor) -> Tensor:
    # The maximum is subtracted first, and the smallest number is not 0: a tiny temperature must not give none.
    coldest = torch.finfo(scores.dtype).tiny
    return ((scores - scores.amax(-1, keepdim=True)) / temperature.to(scores.dtype).clamp(min=coldest)[:, None]).softmax(-1)


def _is_filtered(request: Request, vocabulary: int) -> bool:
    return 0 < request.top_k < vocabulary or request.top_p < 1


#: Numbers that are added at a time.
TERMS = 128


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
