"""Runs the tests of a problem. It executes no model's code: each call of the program under test is a line of JSON to the
caller, who asks the program's process and answers with a line.

Every `assert` is one test, wherever it stands, and passes if it holds each time that it is reached, at least once. A test
that fails does not stop the others; what depends on a line that failed fails too.
"""
import ast
import builtins
import json
import os
import random
import sys


class Lost(Exception):
    """The call has no answer: the program took too long, ended, or wrote anything else."""


class Raised(Exception):
    """The program raised an exception that is not built into Python."""


class Channel:
    def __init__(self):
        self.incoming = os.fdopen(os.dup(0), "r", encoding="utf-8")
        self.outgoing = os.fdopen(os.dup(1), "w", encoding="utf-8")
        nowhere = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(nowhere, descriptor)
        self.calls = 0

    def write(self, message):
        self.outgoing.write(json.dumps(message) + "\n")
        self.outgoing.flush()

    def read(self):
        return json.loads(self.incoming.readline())

    def call(self, name, arguments, keywords, method=False):
        self.calls += 1
        try:
            request = {"arguments": encode(list(arguments)), "keywords": encode(keywords)}
        except NotPlain as error:
            raise Lost(f"an argument cannot be passed: {error}") from None
        self.write({"call": self.calls, "name": name, **request, "method": method})
        answer = self.read()
        if "lost" in answer:
            raise Lost(answer["lost"])
        return receive(answer["reply"], arguments)


def receive(reply, arguments):
    """The value of a call as written by the program's process, which may write anything."""
    try:
        message = json.loads(reply)
        raised = message.get("raises")
        value = decode(message.get("value"))
        after = decode(message["arguments"]) if "arguments" in message else None
    except (ValueError, KeyError, AttributeError, TypeError, RecursionError, MemoryError):
        raise Lost("the program's answer cannot be read") from None
    if raised is not None:
        raise exception_of(raised, message.get("message"))
    if isinstance(after, list) and len(after) == len(arguments):
        for old, new in zip(arguments, after):
            take_over(old, new)
    return value


def exception_of(name, message):
    kind = getattr(builtins, name, None) if isinstance(name, str) else None
    text = message if isinstance(message, str) else ""
    if isinstance(kind, type) and issubclass(kind, Exception):
        try:
            return kind(text)
        except Exception:  # UnicodeDecodeError and others need more arguments
            pass
    return Raised(f"{name}: {text}")


def take_over(old, new):
    """Applies the program's change of an argument in place."""
    if type(old) is not type(new):
        return
    if isinstance(old, list):
        if len(old) == len(new):
            kept = [each if is_container(each) and type(each) is type(after) else after for each, after in zip(old, new)]
            for each, after in zip(old, new):
                take_over(each, after)
            old[:] = kept
        else:
            old[:] = new
    elif isinstance(old, (dict, set)):
        old.clear()
        old.update(new)
    elif isinstance(old, bytearray):
        old[:] = new


def is_container(value):
    return isinstance(value, (list, dict, set, bytearray))


class Remote:
    """A function of the program under test."""

    def __init__(self, channel, name):
        self.__channel = channel
        self.__name__ = name

    def __call__(self, *arguments, **keywords):
        return self.__channel.call(self.__name__, arguments, keywords)


class Results:
    """The result of each test, by number."""

    def __init__(self):
        self.texts = []
        self.reached = {}

    def add(self, text, may_repeat=True):
        """The number of a new test, or of an existing one with the same text."""
        if not may_repeat and text in self.texts:
            return self.texts.index(text)
        self.texts.append(text)
        return len(self.texts) - 1

    def record(self, number, value):
        passed = bool(value)
        self.reached.setdefault(number, None)
        if not passed and self.reached[number] is None:
            self.reached[number] = "the assertion does not hold"

    def equal(self, number, left, right):
        self.accept(number, left, left == right)

    def accept(self, number, left, holds):
        holds = bool(holds)
        self.reached.setdefault(number, None)
        if not holds and self.reached[number] is None:
            self.reached[number] = f"got {shown(left)}"

    def fail(self, number, error):
        if self.reached.get(number) is None:
            self.reached[number] = describe(error)

    def verdict(self):
        return [self.one(number, text) for number, text in enumerate(self.texts)]

    def one(self, number, text):
        if number not in self.reached:
            return {"text": text, "passed": False, "error": "not reached"}
        error = self.reached[number]
        return {"text": text, "passed": error is None, "error": error}


def shown(value):
    text = repr(value)
    return text if len(text) <= 200 else f"{text[:200]}…"


def describe(error):
    name = "" if isinstance(error, (Lost, Raised)) else f"{type(error).__name__}: "
    return f"{name}{error}"[:300]


RECORD, EQUAL, FAIL = "__troupe_record__", "__troupe_equal__", "__troupe_fail__"
ERROR = "__troupe_error__"


class Instrument:
    """Rewrites statements so that each assert is recorded separately."""

    def __init__(self, results, rename, statements):
        self.results = results
        self.rename = rename
        self.variables = {
            each.id
            for statement in statements
            for each in ast.walk(statement)
            if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)
        }

    def block(self, statements):
        return [each for statement in statements for each in self.statement(statement)]

    def statement(self, statement):
        if isinstance(statement, ast.Assert):
            return [self.test(statement)]
        if isinstance(statement, (ast.For, ast.While, ast.If)):
            statement.body = self.block(statement.body)
            statement.orelse = self.block(statement.orelse)
            return [guarded([statement], [ast.Pass()])]
        if isinstance(statement, (ast.Try, ast.With)) and contains_assert(statement):
            return [self.whole(statement)]
        if isinstance(statement, (ast.Expr, ast.Assign, ast.AnnAssign, ast.AugAssign)):
            return [guarded([statement], unbind(statement))]
        return [statement]

    def test(self, statement):
        names = {each.id for each in ast.walk(statement.test) if isinstance(each, ast.Name)}
        if not names:
            return ast.Pass()  # `assert True` tests nothing
        number = self.results.add(self.text(statement), may_repeat=bool(names & self.variables))
        recorded = call(RECORD, number, statement.test)
        if isinstance(statement.test, ast.Compare) and [type(each) for each in statement.test.ops] == [ast.Eq]:
            recorded = call(EQUAL, number, statement.test.left, statement.test.comparators[0])
        return guarded([recorded], [failing(number)])

    def whole(self, statement):
        """A `try` or `with` is one test, because what it catches determines the meaning of its asserts."""
        number = self.results.add(self.text(statement))
        return guarded([statement, call(RECORD, number, ast.Constant(True))], [failing(number)])

    def text(self, statement):
        shown = ast.unparse(ast.Assert(statement.test) if isinstance(statement, ast.Assert) else statement)
        old, new = self.rename
        tree = ast.parse(shown)
        for each in ast.walk(tree):
            if isinstance(each, ast.Name) and each.id == old:
                each.id = new
        return ast.unparse(tree)[:600]


def contains_assert(statement):
    return any(isinstance(each, ast.Assert) for each in ast.walk(statement))


def guarded(body, handler):
    """try: body; except Exception as error: handler"""
    caught = ast.ExceptHandler(ast.Name("Exception", ast.Load()), ERROR, handler)
    return ast.Try(body, [caught], [], [])


def call(function, number, *arguments):
    return ast.Expr(ast.Call(ast.Name(function, ast.Load()), [ast.Constant(number), *arguments], []))


def failing(number):
    return call(FAIL, number, ast.Name(ERROR, ast.Load()))


def unbind(statement):
    """Deletes names whose computation failed, so that no test uses their earlier values."""
    targets = getattr(statement, "targets", None) or [getattr(statement, "target", None)]
    found = [each for target in targets if target for each in ast.walk(target) if isinstance(each, ast.Name)]
    names = [each.id for each in found if isinstance(each.ctx, ast.Store)]
    stores = [ast.Assign([ast.Name(name, ast.Store())], ast.Constant(None)) for name in names]
    deletes = [ast.Delete([ast.Name(name, ast.Del())]) for name in names]
    return [*stores, *deletes] or [ast.Pass()]


def run(tree, namespace, results):
    ast.fix_missing_locations(tree)
    exec(compile(tree, "tests.py", "exec"), namespace, namespace)


def namespace_for(channel, request, results):
    namespace = {"__name__": "tests", RECORD: results.record, EQUAL: results.equal, FAIL: results.fail}
    helpers = ast.parse(request["preamble"])
    for statement in helpers.body:
        exec(compile(ast.Module([statement], []), "preamble.py", "exec"), namespace)
    if request["entryPoint"]:
        namespace[request["entryPoint"]] = Remote(channel, request["entryPoint"])
    return namespace


def run_check(channel, request, results):
    """Tests in a function `check(candidate)`."""
    tree = ast.parse(request["tests"]["source"])
    checks = [each for each in tree.body if isinstance(each, ast.FunctionDef) and each.name == "check"]
    namespace = namespace_for(channel, request, results)
    parameter = checks[0].args.args[0].arg
    instrument = Instrument(results, (parameter, request["entryPoint"]), checks[0].body)
    checks[0].body = instrument.block(checks[0].body)
    # Code after `check` at the top level would call it again.
    tree.body = [each for each in tree.body if not is_call_of(each, "check")]
    run(tree, namespace, results)
    try:
        namespace["check"](namespace[request["entryPoint"]])
    except Exception as error:
        for number in range(len(results.texts)):
            if number not in results.reached:
                results.fail(number, error)


def is_call_of(statement, name):
    value = getattr(statement, "value", None)
    return isinstance(statement, ast.Expr) and isinstance(value, ast.Call) and getattr(value.func, "id", None) == name


def run_asserts(channel, request, results):
    """Tests that are statements and call the program's functions by name."""
    tests = request["tests"]
    namespace = namespace_for(channel, request, results)
    setup = ast.parse(tests["setup"])
    trees = [ast.parse(each) for each in tests["asserts"]]
    run(setup, namespace, results)
    for name in called_in(trees):
        if name not in namespace and not hasattr(builtins, name):
            namespace[name] = Remote(channel, name)
    for tree in trees:
        tree.body = Instrument(results, ("", ""), tree.body).block(tree.body)
        run(tree, namespace, results)


def called_in(trees):
    calls = [each for tree in trees for each in ast.walk(tree) if isinstance(each, ast.Call)]
    return sorted({each.func.id for each in calls if isinstance(each.func, ast.Name)})


def run_calls(channel, request, results):
    """Tests that are calls with accepted results, as JSON texts; a returned tuple counts as a list, as in the sets' own graders."""
    tests = request["tests"]
    for case in tests["cases"]:
        number = results.add(f"{tests['entryPoint']}(*{case['arguments']}) == {case['accepted'][0]}"[:600])
        try:
            arguments = json.loads(case["arguments"])
            value = channel.call(tests["entryPoint"], arguments, {}, method=True)
            results.accept(number, value, any(matches(value, json.loads(each)) for each in case["accepted"]))
        except Exception as error:
            results.fail(number, error)


def matches(value, expected):
    return listed(value) == listed(expected)


def listed(value):
    if isinstance(value, (tuple, list)):
        return [listed(each) for each in value]
    if isinstance(value, dict):
        return {str(key): listed(each) for key, each in value.items()}
    return value


KINDS = {"python-check": run_check, "asserts": run_asserts, "calls": run_calls}


def grade(channel, request):
    results = Results()
    random.seed(0)
    try:
        KINDS[request["tests"]["kind"]](channel, request, results)
        problem = None
    except BaseException as error:  # tests may call sys.exit
        problem = describe(error)
    channel.write({"verdict": {"tests": results.verdict(), "problem": problem}})


sys.set_int_max_str_digits(0)
CHANNEL = Channel()
grade(CHANNEL, CHANNEL.read())
