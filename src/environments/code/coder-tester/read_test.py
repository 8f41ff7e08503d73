"""Reads a model's test without running it: the last `assert f(arguments) == value` in which every part is a
literal. For each line of JSON in, one out: the test, rewritten, or null.
"""
import ast
import json
import sys


def is_literal(node):
    try:
        ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return False
    return True


def names_entry_point(called, name):
    """`f`, or `Solution().f` for problems that ask for a method."""
    return ast.unparse(called) in (name, f"Solution().{name}")


def test_of(statement, entry_point):
    if not isinstance(statement, ast.Assert) or not isinstance(statement.test, ast.Compare):
        return None
    compared = statement.test
    called = compared.left
    if [type(each) for each in compared.ops] != [ast.Eq] or not isinstance(called, ast.Call):
        return None
    if not names_entry_point(called.func, entry_point):
        return None
    called.func = ast.Name(entry_point)
    values = [*called.args, *(each.value for each in called.keywords), compared.comparators[0]]
    if any(each.arg is None for each in called.keywords) or not all(is_literal(each) for each in values):
        return None
    return {"source": ast.unparse(ast.Assert(compared)), "call": as_call(called, compared.comparators[0])}


def as_call(called, result):
    """The same in JSON, for problems whose tests are calls; null where JSON has no such values."""
    try:
        if called.keywords:
            return None
        arguments = [ast.literal_eval(each) for each in called.args]
        texts = [json.dumps(each, allow_nan=False) for each in (arguments, ast.literal_eval(result))]
        return {"arguments": texts[0], "accepted": texts[1:]}
    except (ValueError, TypeError, RecursionError):
        return None


def find(text, entry_point):
    written = read_asserts(unfenced(clean(text)))
    found = [test for test in (test_of(each, entry_point) for each in written) if test is not None]
    return found[-1] if found else None


def read_asserts(code):
    tree = parsed(textwrap.dedent(code))
    if tree is not None:
        return tree.body
    lines = [parsed(line.strip()) for line in code.split("\n") if line.strip().startswith("assert")]
    return [each for tree in lines if tree is not None for each in tree.body]


def answer(request):
    try:
        return find(request["text"], request["entryPoint"])
    except (RecursionError, MemoryError):
        return None


for line in sys.stdin:
    print(json.dumps(answer(json.loads(line))), flush=True)
