"""Extracts code from a model's text: definitions, imports and globals, without fences and prose."""
import ast
import io
import re
import textwrap
import tokenize

MOST_CHARACTERS = 100_000
MOST_BLOCKS = 400
MOST_JOINED = 60
# Characters that are parsed again after a block that does not parse alone.
MOST_REPEATED = 2_000_000

# As in text/fences.ts.
FENCE_LINE = re.compile(r"^([ \t]*)(`{3,}|~{3,})[ \t]*([^`]*)$")
AFTER_PROSE = re.compile(r"^()[^`]*[^`\s][ \t]*(`{3,})(py(?:thon)?[\d.]*)[ \t]*$", re.IGNORECASE)
ONE_LINE = re.compile(r"^[ \t]*```(py(?:thon)?[\d.]*)[ \t]+([^`]+)```[ \t]*$", re.IGNORECASE)
PYTHON = re.compile(r"^(?:py(?:thon)?[\d.]*)?$", re.IGNORECASE)
# A sentence, and what none contains.
PROSE = re.compile(r"^[ \t]*[A-Z][a-z]+[ ,'].*[.!?:]$")
CODE_IN_PROSE = re.compile(r"[=()\[\]{}#]|\"|^\s*(?:True|False|None)\b")
# What may precede a function in its line: a bullet, or words and a colon.
LEAD = re.compile(r"^[ \t]*(?:[-*+]|\d+[.)]|[A-Z][\w' ]*:)[ \t]+(?=(?:async[ \t]+)?def[ \t]+\w+[ \t]*\()", re.MULTILINE)
HEADER = re.compile(r"^(?:async[ \t]+)?def[ \t]+(\w+)[ \t]*[(\[]", re.MULTILINE)
LIKE_CODE = re.compile(r"(?:async\s+def|def|class|import|from|try|if)\b|@|[\w, ]+(?::[^=]+)?=[^=]")


class Written:
    """Extracted code: top-level statements in order, with their source, and definitions that do not parse."""

    def __init__(self):
        self.statements = []
        self.broken = {}

    def add_tree(self, tree, lines):
        for statement in tree.body:
            function = as_function(statement, self.definition)
            if function is not None:
                self.statements.append(function)
            elif is_kept(statement):
                self.statements.append((statement, source_of(statement, lines)))

    def definition(self, name):
        """The last function of this name, or a method of a class `Solution`."""
        found = [each for each, _ in self.statements if is_function(each) and each.name == name]
        classes = [each for each, _ in self.statements if isinstance(each, ast.ClassDef) and each.name == "Solution"]
        methods = [each for one in classes for each in one.body if is_function(each) and each.name == name]
        return (found or methods or [None])[-1]


def is_function(statement):
    return isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef))


def as_function(statement, definition):
    """`f = lambda n: n`, or `f = g` of a function g, as a definition with its source; None: it is neither."""
    if not isinstance(statement, ast.Assign) or len(statement.targets) > 1 or not isinstance(statement.targets[0], ast.Name):
        return None
    name, value = statement.targets[0].id, statement.value
    if isinstance(value, ast.Lambda):
        source = f"def {name}({ast.unparse(value.args)}):\n    return {ast.unparse(value.body)}"
    elif isinstance(value, ast.Name) and value.id != name and is_function(definition(value.id)):
        source = f"def {name}(*given, **named):\n    return {value.id}(*given, **named)"
    else:
        return None
    return ast.parse(source).body[0], source


DEFINITIONS = (
    ast.Import,
    ast.ImportFrom,
    ast.FunctionDef,
    ast.AsyncFunctionDef,
    ast.ClassDef,
    ast.Assign,
    ast.AnnAssign,
    ast.AugAssign,
)


def is_kept(statement):
    if isinstance(statement, DEFINITIONS):
        return True
    if isinstance(statement, ast.Try):  # try: import numpy; except ImportError: numpy = None
        inside = [*statement.body, *statement.orelse, *statement.finalbody, *(each for one in statement.handlers for each in one.body)]
        return all(isinstance(each, (*DEFINITIONS, ast.Pass)) for each in inside)
    if isinstance(statement, ast.If):
        inside = [*statement.body, *statement.orelse]
        return all(isinstance(each, (*DEFINITIONS, ast.Pass)) for each in inside) and "__name__" not in names_in(statement.test)
    return False


def names_in(node):
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}


def source_of(statement, lines):
    first = min([statement.lineno, *(each.lineno for each in getattr(statement, "decorator_list", []))])
    if statement.end_lineno > first or not shares_line(lines[first - 1]):
        return "\n".join(lines[first - 1 : statement.end_lineno])
    return ast.unparse(statement)


def shares_line(line):
    return ";" in line


def read(text):
    """The code of a completion."""
    written = Written()
    code = textwrap.dedent(LEAD.sub("", unfenced(clean(text))))
    tree = parsed(code)
    if tree is not None:
        written.add_tree(tree, code.split("\n"))
    else:
        read_blocks(code, written)
    return written


def clean(text):
    text = text[:MOST_CHARACTERS].replace("\r\n", "\n").replace("\r", "\n")
    text = re.sub("[\f\v\u00a0]", " ", text)
    return "".join(each for each in text if each == "\n" or each == "\t" or each.isprintable() or each == " ")


def unfenced(text):
    """The fenced blocks, only those in Python if there are any; the whole text if there are none."""
    blocks = fenced_blocks(text)
    if not blocks:
        return text
    python = [block for language, block in blocks if PYTHON.match(language)]
    return "\n".join(textwrap.dedent(block) for block in (python or [block for _, block in blocks]))


def fenced_blocks(text):
    """Language and text of each block; the last may be unclosed."""
    blocks, opened = [], None
    for line in text.split("\n"):
        whole = ONE_LINE.match(line) if opened is None else None
        if whole is not None:
            blocks.append(whole.groups())
            continue
        fence = FENCE_LINE.match(line) or AFTER_PROSE.match(line)
        if opened is None:
            if fence is not None:
                opened = (*fence.groups(), [])
        elif fence is not None and is_end(fence, opened):
            blocks.append(block_of(opened))
            info = fence.group(3).strip()
            opened = (*fence.groups(), []) if info and PYTHON.match(info.split()[0]) else None
        else:
            last = ended_by(line)
            opened[3].append(line if last is None else last)
            if last is not None:
                blocks.append(block_of(opened))
                opened = None
    return blocks if opened is None else [*blocks, block_of(opened)]


def ended_by(line):
    """The code before a fence at the end of its line; None: there is none."""
    code = line.rstrip().removesuffix("```")
    return code if "```" in line and code.strip() and "`" not in code else None


def is_end(fence, opened):
    """One that is indented deeper is part of the code."""
    indent, marks = opened[:2]
    return fence.group(2).startswith(marks) and len(fence.group(1)) <= len(indent) + 3


def block_of(opened):
    indent, _, info, lines = opened
    language = re.match(r"[\w+.-]*", info).group()
    return language, "\n".join(line.removeprefix(indent) for line in lines)


def parsed(code):
    try:
        return ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def problem_of(code):
    try:
        ast.parse(code)
    except SyntaxError as error:
        return {"message": str(error.msg)[:200], "line": error.lineno or 1, "column": error.offset or 1}
    except (ValueError, RecursionError, MemoryError) as error:
        return {"message": f"cannot be parsed: {type(error).__name__}", "line": 1, "column": 1}
    return None


def read_blocks(code, written):
    """Code among prose: each block that starts at the left margin is parsed separately."""
    lines = code.split("\n")
    blocks = split_blocks(lines)[:MOST_BLOCKS]
    at, left = 0, MOST_REPEATED
    while at < len(blocks):
        at, left = read_block(lines, blocks, at, left, written)


def read_block(lines, blocks, at, left, written):
    """Parses the block, together with following ones if necessary.

    Returns the next block to parse, and how many of the `left` characters may still be parsed again.
    """
    start, end = blocks[at]
    text = "\n".join(lines[start:end])
    if not LIKE_CODE.match(text):
        add_indented(lines[start + 1 : end], written)
        return at + 1, left
    for last in range(at, min(at + MOST_JOINED, len(blocks))):
        joined = "\n".join(lines[start : blocks[last][1]])
        if last > at:
            left -= len(joined)
            if left < 0:
                break
        tree = parsed(joined)
        if tree is not None:
            written.add_tree(tree, joined.split("\n"))
            return last + 1, left
    header = HEADER.search(text)
    rest = without_prose(lines[start:end]) if header is not None else None
    if rest is not None:
        written.add_tree(parsed(rest), rest.split("\n"))
    elif header is not None:
        written.broken[header.group(1)] = text
    return at + 1, left


def add_indented(lines, written):
    """Functions below a line of prose, indented as a block."""
    code = textwrap.dedent("\n".join(lines))
    tree = parsed(code) if HEADER.search(code) else None
    if tree is not None:
        written.add_tree(tree, code.split("\n"))


def without_prose(lines):
    """A function without the sentences among its lines; None: it does not parse without them either."""
    kept = [line for line in lines if not PROSE.match(line) or CODE_IN_PROSE.search(line)]
    code = "\n".join(kept)
    return code if len(kept) < len(lines) and parsed(code) is not None else None


def split_blocks(lines):
    """Splits at lines at the left margin; decorators and closing brackets stay with their block."""
    starts = [
        number
        for number, line in enumerate(lines)
        if line.strip() and not line[0].isspace() and line[0] not in ")]}"
    ]
    starts = [number for number in starts if not follows_decorator(lines, number)]
    return [(start, end) for start, end in zip(starts, [*starts[1:], len(lines)])]


def follows_decorator(lines, number):
    return number > 0 and lines[number - 1].startswith("@")


def returns_value(definition):
    """Whether a function returns a value; nested functions do not count."""
    waiting = list(definition.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Return) and node.value is not None:
            return True
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            waiting.extend(ast.iter_child_nodes(node))
    return False


def broken_returns(text):
    """As `returns_value`, for a definition that does not parse: whether its tokens contain `return` with a value."""
    previous = None
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if previous == "return" and token.type not in (tokenize.NEWLINE, tokenize.NL, tokenize.COMMENT, tokenize.ENDMARKER):
                return True
            previous = token.string if token.type == tokenize.NAME else None
    except (tokenize.TokenError, SyntaxError, ValueError):
        pass
    return False
