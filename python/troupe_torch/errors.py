"""Errors that the caller understands: a code of src/errors.ts and a sentence."""

from __future__ import annotations


class EngineError(Exception):
    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
