"""Analyses a team's texts without running them: one line of JSON in, one out.

In: `prompt`; `entryPoint`, null for a whole program; `helper`, a name or null; `texts`: `main`, and `helper` if there is one.
Out: for each text what it defines, the program made of both, and how the main function uses the helper.
"""
import ast
import json
import sys


# Calls in each other during an analysis: two for each level of an expression. More could overflow the stack.
DEEPEST = 5000


def part_of(written, name, dropped):
    """What one text contributes. `dropped`: a name that the other text must define."""
    definition = written.definition(name)
    kept = [(each, source) for each, source in written.statements if not binds(each, dropped)]
    source = program_of(kept)
    if definition is not None:
        return kept, {"defined": True, "returns": returns_value(definition), "error": None, "source": source}
    if name in written.broken:
        text = written.broken[name]
        return [], {"defined": True, "returns": broken_returns(text), "error": problem_of(text), "source": text}
    return kept, {"defined": False, "returns": False, "error": None, "source": source}


def binds(statement, name):
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return statement.name == name
    targets = getattr(statement, "targets", None) or [getattr(statement, "target", None)]
    return any(isinstance(target, ast.Name) and target.id == name for target in targets)


def preamble_of(prompt, entry_point):
    """The imports and helpers before the function in a prompt."""
    for code in (prompt, f"{prompt}\n    pass\n"):
        tree = parsed(code)
        if tree is not None:
            lines = code.split("\n")
            return [(each, source_of(each, lines)) for each in tree.body if is_kept(each) and not binds(each, entry_point)]
    return []


def program_of(parts):
    """The source of all parts; imports from `__future__` must come first."""
    future = [source for each, source in parts if is_future(each)]
    rest = [source for each, source in parts if not is_future(each)]
    return "".join(f"{source}\n\n" for source in [*dict.fromkeys(future), *rest])


def is_future(statement):
    return isinstance(statement, ast.ImportFrom) and statement.module == "__future__"


def use_of(helper, entry_point, kept):
    """How the main function, and the functions of its text that it calls, use the helper."""
    functions = {each.name: each for each, _ in kept if is_function(each)}
    main = functions.get(entry_point)
    if main is None or any(rebinds(each, helper) for each, _ in kept):
        return {"called": False, "used": False, "wrapper": False}
    own = {name for each, _ in kept for name in names_bound(each)}
    calls = Calls(helper, own)
    effective = [each for each, _ in kept if not is_function(each) or functions[each.name] is each]
    usual = sys.getrecursionlimit()
    sys.setrecursionlimit(DEEPEST)
    try:
        analyse_uses(main, effective, calls)
    except RecursionError:  # nested too deeply
        return {"called": False, "used": False, "wrapper": False}
    finally:
        sys.setrecursionlimit(usual)
    return {"called": bool(calls.reached), "used": bool(calls.used), "wrapper": is_wrapper(main, helper)}


def rebinds(statement, name):
    """Whether a text defines the helper's name itself; such calls are not calls of the helper."""
    for each in ast.walk(statement):
        if isinstance(each, ast.arg) and each.arg == name:
            return True
        if isinstance(each, ast.Name) and each.id == name and not isinstance(each.ctx, ast.Load):
            return True
        if isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) and each.name == name:
            return True
        if isinstance(each, ast.alias) and (each.asname or each.name) == name:
            return True
    return False


def names_bound(statement):
    """The names that a statement binds anywhere in it."""
    for each in ast.walk(statement):
        if isinstance(each, ast.Name) and not isinstance(each.ctx, ast.Load):
            yield each.id
        elif isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield each.name
        elif isinstance(each, ast.arg):
            yield each.arg
        elif isinstance(each, ast.alias):
            yield each.asname or each.name


def is_wrapper(main, helper):
    """Whether a body only returns the helper's result: it is empty, one `return` that mentions it, or copies of its result."""
    body = [each for each in main.body if not is_nothing(each)]
    if not body:
        return True
    *before, last = body
    if not isinstance(last, ast.Return) or last.value is None:
        return False
    if not before:
        return helper in names_in(last.value)
    copies = set()
    for statement in before:
        name, value = copied(statement)
        if name is None or not (is_call_of(value, helper) or (isinstance(value, ast.Name) and value.id in copies)):
            return False
        copies.add(name)
    return isinstance(last.value, ast.Name) and last.value.id in copies


def copied(statement):
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1 and isinstance(statement.targets[0], ast.Name):
        return statement.targets[0].id, statement.value
    if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
        return statement.target.id, statement.value
    return None, None


def is_call_of(value, helper):
    if isinstance(value, ast.Await):
        return is_call_of(value.value, helper)
    return isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == helper


def whole_program(text):
    """A program that reads standard input; it is run unchanged."""
    part = {"defined": True, "returns": True, "error": problem_of(text), "source": text}
    return {"main": part, "helper": None, "program": text, "preamble": "", "use": None}


def analyse(request):
    if request["entryPoint"] is None:
        return whole_program(request["texts"]["main"])
    helper, entry_point, texts = request["helper"], request["entryPoint"], request["texts"]
    main_kept, main = part_of(read(texts["main"]), entry_point, helper)
    helper_kept, helper_part = [], None
    if helper is not None:
        helper_kept, helper_part = part_of(read(texts["helper"]), helper, entry_point)
    preamble = preamble_of(request["prompt"], entry_point)
    use = use_of(helper, entry_point, main_kept) if helper is not None else None
    return {
        "main": main,
        "helper": helper_part,
        "program": program_of([*preamble, *helper_kept, *main_kept]),
        "preamble": program_of(preamble),
        "use": use,
    }


def main():
    """Answers each request with a line of JSON; null if Python's parser cannot handle the text. Other errors end it."""
    for line in sys.stdin:
        try:
            answer = analyse(json.loads(line))
        except (RecursionError, SyntaxError, ValueError):
            answer = None
        print(json.dumps(answer), flush=True)


main()
