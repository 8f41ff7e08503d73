"""Errors that the caller understands: a code of src/errors.ts and a sentence."""

from __future__ import annotations


class EngineError(Exception):
    def __init__(self, code: str, message: str, discarded: bool = False, fix: str | None = None) -> None:
        """@param fix a key of `fixes` in src/engines/torch/worker.ts: the caller knows how its program is called"""
        super().__init__(message)
        self.code = code
        self.fix = fix
        #: The gradients of the verb's policies are zero now.
        self.discarded = discarded


class HalfDone(Exception):
    """A change failed when some weights had theirs. The worker ends: a new one has the state before it."""
