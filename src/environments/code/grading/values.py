"""Encodes values as JSON, between a program under test and its tests.

Only plain builtin values pass, and they come back as plain builtin values: nothing of the program's own, no class, no
method, reaches the tests. Text, true, false and null are themselves and a list is an array; everything else is an object
with one key, its tag. Integers are hexadecimal, whose reading takes linear time.
"""
import itertools


class NotPlain(Exception):
    """The value has another type, or is too large."""


MOST_ITEMS = 200_000
MOST_CHARACTERS = 4_000_000
MOST_BITS = 400_000  # writing a longer integer in decimal takes seconds
DEEPEST = 100
MOST_DRAWN = 20_000


class _Budget:
    def __init__(self):
        self.items = MOST_ITEMS
        self.characters = MOST_CHARACTERS

    def spend(self, items, characters=0):
        self.items -= items
        self.characters -= characters
        if self.items < 0 or self.characters < 0:
            raise NotPlain("a value is too large")


def encode(value, budget=None, depth=0):
    """The input of `decode`. Raises NotPlain."""
    budget = budget or _Budget()
    if depth > DEEPEST:
        raise NotPlain("a value is nested too deeply, or contains itself")
    budget.spend(1)
    if value is None or value is True or value is False:
        return value
    if isinstance(value, str):
        budget.spend(0, len(value))
        return str.__str__(value)
    if isinstance(value, int):
        number = int(value)
        if number.bit_length() > MOST_BITS:
            raise NotPlain("a number is too large")
        budget.spend(0, number.bit_length() // 4)
        return {"i": format(number, "x")}
    if isinstance(value, float):
        return {"f": float.__repr__(float(value))}
    if isinstance(value, complex):
        return {"c": [float.__repr__(value.real), float.__repr__(value.imag)]}
    if isinstance(value, (bytes, bytearray)):
        budget.spend(0, len(value))
        return {"b" if isinstance(value, bytes) else "B": bytes(value).hex()}
    if isinstance(value, range):
        return {"r": [format(each, "x") for each in (value.start, value.stop, value.step)]}
    return _encode_container(value, budget, depth + 1)


def _encode_container(value, budget, depth):
    if isinstance(value, list):
        return [encode(each, budget, depth) for each in value]
    for kind, tag in ((tuple, "t"), (set, "s"), (frozenset, "z")):
        if isinstance(value, kind):
            return {tag: [encode(each, budget, depth) for each in value]}
    if isinstance(value, dict):
        pairs = [[encode(key, budget, depth), encode(each, budget, depth)] for key, each in value.items()]
        return {"d": pairs}
    if type(value).__name__ == "deque":
        return {"q": [encode(each, budget, depth) for each in value]}
    if isinstance(value, (type({}.keys()), type({}.values()), type({}.items()))) or hasattr(type(value), "__next__"):
        drawn = list(itertools.islice(iter(value), MOST_DRAWN + 1))
        if len(drawn) > MOST_DRAWN:
            raise NotPlain(f"an iterator gives more than {MOST_DRAWN} values")
        return {"g": [encode(each, budget, depth) for each in drawn]}
    raise NotPlain(f"a value of type {type(value).__name__} is not a plain one")


def decode(value, depth=0):
    """The encoded value, of builtin types only. Raises ValueError for anything that `encode` does not write."""
    if depth > DEEPEST + 1:
        raise ValueError("nested too deeply")
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, list):
        return [decode(each, depth + 1) for each in value]
    if not isinstance(value, dict) or len(value) != 1:
        raise ValueError("not an encoded value")
    [(tag, content)] = value.items()
    try:
        return _DECODERS[tag](content, depth + 1)
    except (KeyError, TypeError, AttributeError, OverflowError) as error:
        raise ValueError("not an encoded value") from error


def _items(content, depth):
    if not isinstance(content, list):
        raise ValueError("not an encoded value")
    return [decode(each, depth) for each in content]


def _range(content):
    start, stop, step = (_integer(each) for each in content)
    return range(start, stop, step)


def _deque(items):
    from collections import deque

    return deque(items)


def _integer(content):
    if len(content) > MOST_BITS // 4 + 2:
        raise ValueError("a number is too large")
    return int(content, 16)


_DECODERS = {
    "i": lambda content, depth: _integer(content),
    "f": lambda content, depth: float(content),
    "c": lambda content, depth: complex(float(content[0]), float(content[1])),
    "b": lambda content, depth: bytes.fromhex(content),
    "B": lambda content, depth: bytearray.fromhex(content),
    "r": lambda content, depth: _range(content),
    "t": lambda content, depth: tuple(_items(content, depth)),
    "s": lambda content, depth: set(_items(content, depth)),
    "z": lambda content, depth: frozenset(_items(content, depth)),
    "d": lambda content, depth: {decode(key, depth): decode(each, depth) for key, each in content},
    "q": lambda content, depth: _deque(_items(content, depth)),
    "g": lambda content, depth: iter(_items(content, depth)),
}
