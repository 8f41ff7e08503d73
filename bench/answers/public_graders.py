"""What public graders say about pairs of answers: `python public_graders.py < pairs.jsonl > verdicts.jsonl`.

Needs math-verify 0.9.0 (which brings latex2sympy2_extended).
"""
import json
import logging
import sys

from latex2sympy2_extended import latex2sympy
from math_verify import parse, verify
from sympy import simplify

logging.disable(logging.CRITICAL)


def math_verify(reference: str, answer: str) -> bool:
    gold = parse(reference if "$" in reference else f"${reference}$")
    return verify(gold, parse(f"\\boxed{{{answer}}}"))


def sympy_equal(reference: str, answer: str) -> bool | None:
    """None: one of them is no expression."""
    try:
        one, other = latex2sympy(reference), latex2sympy(answer)
        return bool(one == other or simplify(one - other) == 0)
    except Exception:
        return None


for line in sys.stdin:
    pair = json.loads(line)
    given = pair["reference"], pair["answer"]
    # Its own forms of expressions, which it knows.
    skips = len(given[1]) > 120 or pair["name"].startswith("generated/")
    verdict = {"mathVerify": math_verify(*given), "sympy": None if skips else sympy_equal(*given)}
    print(json.dumps({**pair, **verdict}), flush=True)
