"""Passes over training data: log-probabilities and values, losses, gradients."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any, Callable, Iterator, Mapping, Sequence

import numpy as np
import torch
from torch import Tensor

from .adapters import adapted
from .attention import Packed, Piece, laid_out
from .errors import EngineError
from .losses import counts_of, entropy_bonus, terms_of
from .model import Model
from .policy import Policy

FIELDS = ("weights", "advantages", "logprobs", "reference", "penalties", "targets", "values", "mask")


@dataclass(frozen=True)
class Datum:
    policy: str
    prompt: np.ndarray
    #: Tokens of each continuation, and where they begin in the flat arrays of the whole request.
    continuations: tuple[tuple[np.ndarray, int], ...]


@dataclass
class Sums:
    loss: float = 0
    tokens: int = 0
    entropy: float = 0
    kl: float = 0
    reference_kl: float = 0
    clipped: int = 0


@dataclass(frozen=True)
class Pack:
    """Pieces of data that are computed together."""

    tokens: np.ndarray
    positions: np.ndarray
    pieces: tuple[Piece, ...]
    #: Where each predicted token's state is, what it is, and its place in the flat arrays.
    predictors: np.ndarray
    predicted: np.ndarray
    places: np.ndarray
    #: The number of each predicted token's continuation.
    owners: np.ndarray


def read_data(header: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> list[Datum]:
    data, at, flat = [], 0, 0
    tokens = arrays["tokens"]
    lengths = iter(arrays["continuationLengths"].tolist())
    for policy, prompt, count in zip(
        arrays["policyOf"].tolist(), arrays["promptLengths"].tolist(), arrays["continuationCounts"].tolist()
    ):
        own = tokens[at : at + prompt]
        at += prompt
        continuations = []
        for _ in range(count):
            length = next(lengths)
            continuations.append((tokens[at : at + length], flat))
            at, flat = at + length, flat + length
        data.append(Datum(header["policies"][policy], own, tuple(continuations)))
    return data


def check_data(data: Sequence[Datum], policies: Mapping[str, Policy], loss: Mapping[str, Any] | None) -> None:
    for datum in data:
        policy = policies.get(datum.policy)
        if policy is None:
            raise EngineError("bad_arguments", f"There is no policy {datum.policy!r}.")
        if loss is not None and (loss["type"] == "value") != policy.critic:
            what = "is a critic" if policy.critic else "is no critic"
            raise EngineError("bad_arguments", f"{datum.policy} {what}, so the loss {loss['type']} is not for it")
        if not datum.continuations:
            raise EngineError("bad_shape", f"data of {datum.policy} have no continuations")
        for tokens in [datum.prompt, *(each for each, _ in datum.continuations)]:
            if len(tokens) == 0:
                raise EngineError("bad_shape", f"data of {datum.policy} have an empty prompt or continuation")
            check_tokens(tokens, policy.model, f"data of {datum.policy}")
        longest = len(datum.prompt) + max(len(each) for each, _ in datum.continuations)
        if longest > policy.model.max_length:
            raise EngineError(
                "too_long", f"data of {datum.policy} have {longest} tokens; its model has room for {policy.model.max_length}"
            )


def check_tokens(tokens: np.ndarray, model: Model, where: str) -> None:
    bad = tokens[(tokens < 0) | (tokens >= model.vocabulary)]
    if len(bad) > 0:
        raise EngineError("bad_token", f"{where} has {bad[0]}; expected token ids from 0 to {model.vocabulary - 1}")


def packs_of(data: Sequence[Datum], most: int) -> Iterator[Pack]:
    """Data of one policy in order, at most so many tokens together; a larger datum is divided, with its prompt in each part."""
    held: list[Datum] = []
    size = 0
    for part in (part for datum in data for part in _parts(datum, most)):
        own = _size(part)
        if held and size + own > most:
            yield _pack(held)
            held, size = [], 0
        held.append(part)
        size += own
    if held:
        yield _pack(held)


def _size(datum: Datum) -> int:
    return len(datum.prompt) + sum(len(tokens) for tokens, _ in datum.continuations)


def _parts(datum: Datum, most: int) -> Iterator[Datum]:
    held: list[tuple[np.ndarray, int]] = []
    size = len(datum.prompt)
    for each in datum.continuations:
        if held and size + len(each[0]) > most:
            yield Datum(datum.policy, datum.prompt, tuple(held))
            held, size = [], len(datum.prompt)
        held.append(each)
        size += len(each[0])
    yield Datum(datum.policy, datum.prompt, tuple(held))


def _pack(data: Sequence[Datum]) -> Pack:
    tokens, positions, pieces, predictors, places = [], [], [], [], []
    predicted: list[np.ndarray] = []
    at = 0
    for datum in data:
        prompt = len(datum.prompt)
        pieces.append(Piece(at, prompt, tuple(len(each) for each, _ in datum.continuations)))
        tokens.append(datum.prompt)
        positions.append(np.arange(prompt))
        last, at = at + prompt - 1, at + prompt
        for each, flat in datum.continuations:
            tokens.append(each)
            positions.append(np.arange(prompt, prompt + len(each)))
            predictors.append(np.concatenate([[last], np.arange(at, at + len(each) - 1)]))
            predicted.append(each)
            places.append(np.arange(flat, flat + len(each)))
            at += len(each)
    return Pack(
        *(np.concatenate(each) for each in (tokens, positions)),
        tuple(pieces),
        *(np.concatenate(each).astype(np.int64) for each in (predictors, predicted, places)),
        np.repeat(np.arange(len(predicted)), [len(each) for each in predicted]),
    )


@dataclass
class Settings:
    """Bounds of what is in memory at a time."""

    #: Tokens that pass through the trunk together.
    trunk_tokens: int
    #: Tokens whose scores of the whole vocabulary are in memory.
    head_tokens: int
    #: Matrix products of whole models in bfloat16, whose weights stay float32.
    autocast: bool = False

    def casting(self, model: Model) -> AbstractContextManager[Any]:
        if self.autocast and model.dtype == torch.float32:
            return torch.autocast(model.device.type, torch.bfloat16)
        return nullcontext()


@dataclass
class Pass:
    """One request's data. `interrupted` raises if it was cancelled."""

    policies: Mapping[str, Policy]
    settings: Settings
    interrupted: Callable[[], None]
    loss: Mapping[str, Any] | None
    numbers: Mapping[str, np.ndarray]
    top: int = 0
    sums: Sums = field(default_factory=Sums)

    def over(self, data: Sequence[Datum]) -> dict[str, np.ndarray]:
        count = sum(len(tokens) for datum in data for tokens, _ in datum.continuations)
        self.outputs = np.zeros(count, np.float32)
        self.tops = (np.zeros((count, self.top), np.int32), np.zeros((count, self.top), np.float32))
        for name in dict.fromkeys(datum.policy for datum in data):
            policy = self.policies[name]
            own = [datum for datum in data if datum.policy == name]
            for pack in packs_of(own, self.settings.trunk_tokens):
                self.interrupted()
                self._pack(policy, pack)
        found = {"outputs": self.outputs}
        return found | ({"topTokens": self.tops[0], "topLogprobs": self.tops[1]} if self.top > 0 else {})

    def _pack(self, policy: Policy, pack: Pack) -> None:
        model = policy.model
        layout = Packed(pack.pieces, model.device)
        learns = self.loss is not None
        tokens, positions, predictors, predicted = (
            torch.from_numpy(each.astype(np.int64)).to(model.device)
            for each in (pack.tokens, pack.positions, pack.predictors, pack.predicted)
        )
        with torch.set_grad_enabled(learns), adapted(policy.adapter), laid_out(layout), self.settings.casting(model):
            states = model.states(tokens[None], positions[None])[0][predictors]
            outputs, entropies = self._outputs(policy, states.detach(), predicted, pack.places)
            self.outputs[pack.places] = outputs.float().cpu().numpy()
            # In float64 on the processor: Apple's GPU has none.
            slopes, bonuses = self._count(policy, pack, outputs.cpu().double(), entropies.cpu().double())
            if learns:
                policy.accumulated = True
                gradient = self._head_gradient(policy, states.detach(), predicted, slopes, bonuses)
                states.backward(gradient)

    @torch.no_grad()
    def _outputs(self, policy: Policy, states: Tensor, predicted: Tensor, places: np.ndarray) -> tuple[Tensor, Tensor]:
        """Log-probabilities, or values, and entropies; never more of the vocabulary's scores at a time than allowed."""
        if policy.critic:
            values = policy.values(states)
            return values, torch.zeros_like(values)
        found: list[tuple[Tensor, Tensor]] = []
        step = self.settings.head_tokens
        for at in range(0, len(predicted), step):
            self.interrupted()
            logprobs = policy.model.scores(states[at : at + step]).log_softmax(-1)
            own = logprobs.gather(1, predicted[at : at + step, None])[:, 0]
            if self.top > 0:
                best = logprobs.sort(dim=-1, descending=True, stable=True)
                where = places[at : at + step]
                self.tops[0][where] = best.indices[:, : self.top].cpu().numpy()
                self.tops[1][where] = best.values[:, : self.top].cpu().numpy()
            # In place: a row of scores is large.
            shares = logprobs.exp()
            entropy = -shares.mul_(logprobs.clamp_(min=torch.finfo(logprobs.dtype).min)).sum(-1)
            found.append((own, entropy))
        return torch.cat([own for own, _ in found]), torch.cat([entropy for _, entropy in found])

    def _count(self, policy: Policy, pack: Pack, outputs: Tensor, entropies: Tensor) -> tuple[Tensor, Tensor]:
        """Adds to the sums. @returns derivatives of the loss by outputs and by entropies"""
        sums = self.sums
        if not torch.isfinite(outputs).all():
            raise EngineError("bad_model", f"policy {policy.name}: its numbers are not finite; its weights have diverged")
        numbers = {name: torch.from_numpy(each[pack.places].astype(np.float64)) for name, each in self.numbers.items()}
        if self.loss is None:
            counts = counts_of(numbers, outputs)
            sums.tokens += int(counts.sum())
            sums.entropy += torch.where(counts, entropies, 0).sum().item()
            return outputs, outputs
        terms = terms_of(self.loss, numbers, outputs, entropies, torch.from_numpy(pack.owners))
        if not all(torch.isfinite(each).all() for each in (terms.loss, terms.slope, terms.kl, terms.reference_kl)):
            raise EngineError("bad_model", f"policy {policy.name}: the loss is not finite; its inputs are extreme")
        sums.loss += terms.loss.sum().item()
        sums.tokens += int(terms.counts.sum())
        sums.entropy += torch.where(terms.counts, entropies, 0).sum().item()
        sums.kl += terms.kl.sum().item()
        sums.reference_kl += terms.reference_kl.sum().item()
        sums.clipped += int(terms.clipped.sum())
        return terms.slope, entropy_bonus(self.loss, numbers, outputs)

    def _head_gradient(
        self, policy: Policy, states: Tensor, predicted: Tensor, slopes: Tensor, bonuses: Tensor
    ) -> Tensor:
        """Of the states; the head's own parameters get theirs. Scores are computed again, a part at a time."""
        slopes, bonuses = (each.to(states.device, torch.float32) for each in (slopes, bonuses))
        gradient = torch.zeros_like(states)
        has_bonus = bool(bonuses.any())
        step = len(predicted) if policy.critic else self.settings.head_tokens
        for at in range(0, len(predicted), step):
            self.interrupted()
            part = slice(at, at + step)
            own = states[part].requires_grad_()
            if policy.critic:
                (policy.values(own) * slopes[part]).sum().backward()
            else:
                scores = policy.model.scores(own)
                scores.backward(_of_scores(scores.detach(), predicted[part], slopes[part], bonuses[part], has_bonus))
            assert own.grad is not None
            gradient[part] = own.grad
        return gradient


@torch.no_grad()
def _of_scores(scores: Tensor, predicted: Tensor, slopes: Tensor, bonuses: Tensor, has_bonus: bool) -> Tensor:
    """Derivatives of slope · log-probability - bonus · entropy, written out: so fewer rows of scores are in memory."""
    shares = scores.softmax(-1)
    weights = -slopes[:, None]
    if has_bonus:
        logprobs = scores.log_softmax(-1).clamp_(min=torch.finfo(scores.dtype).min)
        entropies = -(shares * logprobs).sum(-1, keepdim=True)
        weights = weights + bonuses[:, None] * logprobs.add_(entropies)
    return shares.mul_(weights).scatter_add_(1, predicted[:, None], slopes[:, None])
