"""Whether the results of a helper's calls are used: a backward analysis of which names are needed later.

A name is needed where what it holds may still reach something observable: a returned value, a condition, an argument of
another call, an element or attribute. Copying it to a name that is not needed is no use.
"""
import ast
import collections

# Calls without an effect but their result: their arguments are used where the result is.
PURE = frozenset(
    "abs all any ascii bin bool callable chr complex dict divmod enumerate filter float format frozenset hasattr hash hex id "
    "int isinstance issubclass iter len list map max min oct ord pow print range repr reversed round set slice sorted str sum "
    "tuple type zip".split()
)
# Of these, those that look at a function without calling it.
INSPECTING = frozenset("ascii bool callable format hasattr hash id isinstance issubclass len print repr str type".split())
# Expressions whose value may be one of their parts, such as a function.
TRANSPARENT = (ast.List, ast.Tuple, ast.Set, ast.Dict, ast.Starred, ast.keyword, ast.IfExp, ast.BoolOp, ast.NamedExpr)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


# Rounds of a loop until what is needed no longer changes, by the number of loops around it.
MOST_ROUNDS = (10, 5, 3, 2)


class Calls:
    """The reachable calls of a named function, and those whose results are used."""

    def __init__(self, name, own=()):
        self.name = name
        # Names that the text defines, which are no longer Python's own.
        self.own = frozenset(own)
        self.reached = set()
        self.used = set()
        # Names and attributes that are called, or passed on to whoever calls them.
        self.alive = set()

    def is_helper(self, node):
        return isinstance(node, ast.Name) and node.id == self.name

    def is_one_of(self, node, names):
        return isinstance(node, ast.Name) and node.id in names and node.id not in self.own


class Flow:
    def __init__(self, calls, always, is_main):
        self.calls = calls
        # What the main function returns is compared, what others return may be called.
        self.is_main = is_main
        # Names read by nested functions, or defined outside: needed everywhere.
        self.always = always
        self.loops = []
        self.caught = set()

    def block(self, statements, after):
        needed = set(after)
        for statement in reversed(reachable(statements)):
            needed = self.statement(statement, needed)
        return needed

    def statement(self, node, after):
        method = getattr(self, f"on_{type(node).__name__}", None)
        if method is not None:
            return method(node, after)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            return after
        needed = set(after)
        for child in ast.iter_child_nodes(node):
            self.read(child, True, needed)
        return needed

    def read(self, node, is_used, needed, is_passed=False):
        """Visits an expression whose value is used or not; adds the names it needs. Passed: someone may call the value."""
        if isinstance(node, ast.Name):
            self.read_name(node, is_used, needed, is_passed)
        elif isinstance(node, ast.Lambda):
            if is_used:
                self.read(node.body, True, needed)
        elif isinstance(node, ast.Call):
            self.read_call(node, is_used, needed)
        elif isinstance(node, COMPREHENSIONS):
            self.read_comprehension(node, is_used, needed, is_passed)
        elif isinstance(node, (ast.NamedExpr, ast.Yield, ast.YieldFrom, ast.Await)):
            self.read_children(node, True, needed, is_passed)
        else:
            self.read_children(node, is_used, needed, is_passed and isinstance(node, TRANSPARENT))

    def read_children(self, node, is_used, needed, is_passed):
        if isinstance(node, ast.Attribute):
            self.calls.alive.add(node.attr)
        for child in live_parts(node):
            self.read(child, is_used, needed, is_passed)

    def read_name(self, node, is_used, needed, is_passed):
        if not is_used or not isinstance(node.ctx, ast.Load):
            return
        needed.add(node.id)
        if not is_passed:
            return
        self.calls.alive.add(node.id)
        if self.calls.is_helper(node):
            # Passed to another function, such as `map`, which calls it.
            self.calls.reached.add(id(node))
            self.calls.used.add(id(node))

    def read_call(self, node, is_used, needed):
        arguments = [*node.args, *node.keywords]
        if self.calls.is_helper(node.func):
            self.calls.reached.add(id(node))
            if is_used:
                self.calls.used.add(id(node))
        else:
            self.read(node.func, True, needed, is_passed=True)
            is_used = is_used or not self.calls.is_one_of(node.func, PURE)
        is_passed = not self.calls.is_one_of(node.func, INSPECTING)
        for child in arguments:
            self.read(child, is_used, needed, is_passed)

    def read_comprehension(self, node, is_used, needed, is_passed):
        for generator in node.generators:
            self.read(generator.iter, True, needed)
            if is_empty(generator.iter) or any(constant(each) is False for each in generator.ifs):
                return
            for each in generator.ifs:
                self.read(each, True, needed)
        for part in (node.key, node.value) if isinstance(node, ast.DictComp) else (node.elt,):
            self.read(part, is_used, needed, is_passed)

    def on_Expr(self, node, after):
        needed = set(after)
        self.read(node.value, False, needed)
        return needed

    def assigned(self, targets, value, after, keeps=False):
        names = plain_names(targets)
        needed = set(after)
        if names is None:
            for target in targets:
                self.read(target, True, needed)
            self.read(value, True, needed)
            return needed
        is_needed = bool(names & (after | self.always))
        if not keeps:
            needed -= names
        # Values assigned before an exception in a `try` may be needed by a handler.
        needed |= self.caught
        self.read(value, is_needed, needed, is_passed=True)
        return needed

    def on_Assign(self, node, after):
        return self.assigned(node.targets, node.value, after)

    def on_AnnAssign(self, node, after):
        return after if node.value is None else self.assigned([node.target], node.value, after)

    def on_AugAssign(self, node, after):
        return self.assigned([node.target], node.value, after, keeps=True)

    def on_Return(self, node, after):
        needed = set(self.caught)
        if node.value is not None:
            self.read(node.value, True, needed, is_passed=not self.is_main)
        return needed

    def on_Raise(self, node, after):
        needed = set(self.caught)
        for child in ast.iter_child_nodes(node):
            self.read(child, True, needed)
        return needed

    def on_Break(self, node, after):
        return set(self.loops[-1][0]) if self.loops else after

    def on_Continue(self, node, after):
        return set(self.loops[-1][1]) if self.loops else after

    def on_If(self, node, after):
        """With its `elif`s, which may be many, from the last to the first."""
        tested, otherwise = chain_of(node)
        needed = set() if otherwise is None else self.block(otherwise, after)
        for each, known in reversed(tested):
            if known is not False:
                needed = needed | self.block(each.body, after)
            # What decides between nothing and nothing has no effect.
            self.read(each.test, not all(map(is_nothing, [*each.body, *each.orelse])), needed)
        return needed

    def on_While(self, node, after):
        if constant(node.test) is False:
            return self.block(node.orelse, after)
        return self.loop(node, after, set(), lambda needed: self.read(node.test, True, needed))

    def on_For(self, node, after):
        if is_empty(node.iter):
            return self.block(node.orelse, after)
        needed = self.loop(node, after, plain_names([node.target]) or set(), lambda _: None)
        self.read(node.iter, True, needed, is_passed=not all(map(is_nothing, node.body)))
        return needed

    on_AsyncFor = on_For

    def loop(self, node, after, bound, read_head):
        done = self.block(node.orelse, after)
        head = set(done)
        read_head(head)
        depth = len(self.loops)
        for _ in range(MOST_ROUNDS[depth] if depth < len(MOST_ROUNDS) else 0):
            again = self.round(node, after, head, bound)
            if again == head:
                return head
            head = again
        # No hidden chain of copies, so far: whatever the loop reads counts as needed.
        return self.round(node, after, head | names_read(node), bound)

    def round(self, node, after, head, bound):
        self.loops.append((after, head))
        needed = self.block(node.body, head) - bound
        self.loops.pop()
        return head | needed

    def on_With(self, node, after):
        needed = self.block(node.body, after)
        for item in node.items:
            self.read(item.context_expr, True, needed)
        return needed

    on_AsyncWith = on_With

    def on_Try(self, node, after):
        final = self.block(node.finalbody, after)
        handlers = [] if all(is_nothing(each) for each in node.body) else node.handlers
        handled = [self.block(handler.body, final) for handler in handlers]
        outside, self.caught = self.caught, self.caught.union(final, *handled)
        needed = self.block(node.body, self.block(node.orelse, final))
        self.caught = outside
        return needed.union(*handled)

    on_TryStar = on_Try

    def on_Match(self, node, after):
        needed = set(after).union(*(self.block(case.body, after) for case in node.cases))
        self.read(node.subject, True, needed)
        return needed


def reachable(statements):
    for number, statement in enumerate(statements):
        if ends(statement):
            return statements[: number + 1]
    return statements


def ends(statement):
    """Whether nothing after the statement is reached, whatever happens in it."""
    if isinstance(statement, (ast.Return, ast.Raise, ast.Break, ast.Continue)):
        return True
    if isinstance(statement, ast.If):
        tested, otherwise = chain_of(statement)
        bodies = [each.body for each, known in tested if known is not False]
        return all(any(map(ends, body)) for body in [*bodies, *([] if otherwise is None else [otherwise])])
    if isinstance(statement, ast.While):
        return constant(statement.test) is True and not breaks(statement.body)
    if isinstance(statement, ast.Try):
        tried = any(map(ends, [*statement.body, *statement.orelse]))
        return any(map(ends, statement.finalbody)) or (
            tried and all(any(map(ends, handler.body)) for handler in statement.handlers)
        )
    return False


def breaks(statements):
    """Whether a `break` leaves the loop that consists of these statements."""
    waiting = list(statements)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Break):
            return True
        if isinstance(node, (ast.For, ast.AsyncFor, ast.While)):
            waiting.extend(node.orelse)
        elif not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            waiting.extend(ast.iter_child_nodes(node))
    return False


def is_nothing(statement):
    return isinstance(statement, ast.Pass) or (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant))


def chain_of(node):
    """An `if` and its `elif`s, each with what its condition is known to be, and the last `else`; None: it is not reached."""
    tested = []
    while True:
        known = constant(node.test)
        tested.append((node, known))
        if known is True:
            return tested, None
        if len(node.orelse) != 1 or not isinstance(node.orelse[0], ast.If):
            return tested, node.orelse
        node = node.orelse[0]


def live_parts(node):
    """The parts of an expression that may be evaluated."""
    if isinstance(node, ast.IfExp) and constant(node.test) is not None:
        return [node.body if constant(node.test) else node.orelse]
    if not isinstance(node, ast.BoolOp):
        return ast.iter_child_nodes(node)
    decides = isinstance(node.op, ast.Or)
    last = next((at for at, each in enumerate(node.values) if constant(each) is decides), len(node.values))
    return node.values[: last + 1]


FOLDED = (
    ast.Constant, ast.List, ast.Tuple, ast.Set, ast.Dict, ast.Load, ast.Compare, ast.cmpop, ast.UnaryOp, ast.unaryop,
    ast.BoolOp, ast.boolop, ast.BinOp, ast.Add, ast.Sub,
)  # fmt: skip


def value_of(node):
    """The value of an expression of constants. Raises ValueError for any other."""
    if not all(isinstance(each, FOLDED) for each in ast.walk(node)):
        raise ValueError("not constant")
    return eval(compile(ast.Expression(node), "constant", "eval"), {})


def constant(test):
    """Whether a condition is always true or always false; None: neither is certain."""
    if isinstance(test, ast.Name):
        return True if test.id == "__debug__" else None
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        inner = constant(test.operand)
        return None if inner is None else not inner
    if isinstance(test, ast.BoolOp):
        decides = isinstance(test.op, ast.Or)
        known = [constant(each) for each in test.values]
        return decides if decides in known else None if None in known else not decides
    try:
        return bool(value_of(test))
    except Exception:
        return None


def is_empty(iterable):
    """Whether a loop over it certainly has no round."""
    try:
        if isinstance(iterable, ast.Call) and isinstance(iterable.func, ast.Name) and iterable.func.id == "range":
            return not iterable.keywords and len(range(*map(value_of, iterable.args))) == 0
        return len(value_of(iterable)) == 0
    except Exception:
        return False


def plain_names(targets):
    """The assigned names; None if something else is assigned too, such as an element of a list."""
    names = set()
    for target in targets:
        for node in ast.walk(target):
            if isinstance(node, (ast.Attribute, ast.Subscript)):
                return None
            if isinstance(node, ast.Name):
                names.add(node.id)
    return names


def functions_in(function):
    """The function and its nested functions, including lambdas."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
    return [each for each in ast.walk(function) if isinstance(each, kinds)]


def analyse_uses(main, statements, calls):
    """Adds the helper's calls in the main function and in the functions and methods that may be called from there."""
    waiting, known = [main], {}
    for statement in statements:
        for name, function in named_in(statement):
            known.setdefault(name, []).append((function, statement))
    roots = {id(function): root for found in known.values() for function, root in found}
    readers = {}
    done = set()
    while waiting:
        function = waiting.pop()
        if id(function) in done:
            continue
        done.add(id(function))
        root = roots[id(function)]
        if id(root) not in readers:
            readers[id(root)] = readers_in(root)
        Flow(calls, always_needed(function, readers[id(root)]), function is main).block(function.body, set())
        for decorator in function.decorator_list:
            calls.alive |= names_read(decorator)
        waiting.extend(each for name in sorted(calls.alive) for each, _ in known.get(name, []))


def named_in(statement):
    """The functions in a definition, each under the name by which it is called; special methods under their class's."""
    for node in ast.walk(statement):
        if isinstance(node, ast.ClassDef):
            yield from ((node.name, each) for each in node.body if is_defined(each) and each.name.startswith("__"))
        if is_defined(node):
            yield node.name, node


def is_defined(node):
    return isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))


def readers_in(root):
    """How many functions of a definition at the top level read each name."""
    return collections.Counter(name for each in functions_in(root) for name in names_read(each))


def always_needed(function, readers):
    """The names that other functions of the same definition at the top level read, and those from outside."""
    own = names_read(function)
    return outer_names(function) | {name for name, count in readers.items() if count > (name in own)}


def names_read(function):
    return {each.id for each in ast.walk(function) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load)}


def outer_names(function):
    return {name for each in ast.walk(function) if isinstance(each, (ast.Global, ast.Nonlocal)) for name in each.names}
