"""Pairs of expressions by a computer-algebra system: `python generated.py COUNT SEED > pairs.jsonl`.

An expression and another form of it are equal; with a number changed they are not, as their difference is not zero.
Needs sympy.
"""
import json
import random
import sys

from sympy import (
    Integer, Rational, apart, cancel, cos, exp, expand, factor, latex, log, pi, radsimp, sin, sqrt, symbols, together,
)

x, y, n = symbols("x y n")
FORMS = [expand, factor, together, cancel, radsimp, lambda e: apart(e, x) if e.has(x) else e]


def number(draw):
    return draw.choice([Integer, lambda v: Rational(v, draw.randint(2, 12))])(draw.choice([-1, 1]) * draw.randint(1, 30))


def surd(draw):
    return number(draw) + number(draw) * sqrt(draw.choice([2, 3, 5, 6, 7]))


def polynomial(draw):
    return sum(number(draw) * x ** power for power in range(draw.randint(1, 3))) * (number(draw) + x)


EXPRESSIONS = [
    number,
    surd,
    polynomial,
    lambda draw: surd(draw) / surd(draw),
    lambda draw: polynomial(draw) / (x + draw.randint(1, 9)),
    lambda draw: number(draw) * pi + number(draw),
    lambda draw: (number(draw) * x + y) ** 2,
    lambda draw: number(draw) * exp(number(draw)) + log(draw.randint(2, 9)),
    lambda draw: number(draw) * sin(pi / draw.randint(5, 9)) + cos(draw.randint(1, 5)),
    lambda draw: 2 ** (n + draw.randint(1, 4)) * number(draw),
]


def changed(draw, expression):
    """Another number somewhere; None: there is none that matters."""
    numbers = sorted((one for one in expression.atoms(Integer) if abs(one) > 1), key=str)
    if not numbers:
        return None
    old = draw.choice(numbers)
    other = expression.xreplace({old: old + draw.choice([-1, 1])})
    difference = (other - expression).subs({x: Rational(17, 10), y: Rational(29, 11), n: 5}).evalf()
    return other if difference.is_finite and abs(difference) > 1e-3 else None


def texts(draw, expression):
    """An answer with the expression, alone or in a tuple, list, interval or matrix, and the same with another form."""
    other = draw.choice(FORMS)(expression)
    wrong = changed(draw, draw.choice([expression, other]))
    companion = latex(number(draw))
    shape = draw.choice(["{}", "{}", "{}", "\\left({}, %s\\right)" % companion, "%s, {}" % companion])
    return [None if one is None else shape.replace("{}", latex(one)) for one in (expression, other, wrong)]


def main(count, seed):
    for row in range(count):
        draw = random.Random(f"{seed}/{row}")
        kind = row % len(EXPRESSIONS)
        reference, form, wrong = texts(draw, EXPRESSIONS[kind](draw))
        for answer, equal in ((form, True), (wrong, False)):
            if answer is not None:
                name = f"generated/{row}/{'form' if equal else 'changed'}{kind}"
                print(json.dumps({"name": name, "reference": reference, "answer": answer, "equal": equal}))


main(int(sys.argv[1]), int(sys.argv[2]))
