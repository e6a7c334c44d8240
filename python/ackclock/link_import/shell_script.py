"""The commands of a shell script as people post it: comments, prompts, continued lines, variables,
arithmetic, `for` loops and branches, as much of sh(1) as set-ups use.

Nothing is run. A variable without a value stays as `${NAME}` in the words.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

MAX_COMMANDS = 5000
"""Commands of a script, loops expanded."""
MAX_WORDS = 200
MAX_CALLS = 8
"""Functions that call each other."""
PROMPT = re.compile(r"\s*(?:\S{1,60}@\S{1,60}[:~ ][^#$%]{0,80}[#$%]|[$%>])\s+(?=\S)")
ROOT_PROMPT = re.compile(r"\s*#\s+(?=(?:sudo\s+)?(?:/\S*/)?(?:tc|mm-\w+|ipfw|dnctl|uci)\s)")
NAME = r"[A-Za-z_][A-Za-z0-9_]*"
ASSIGNMENT = re.compile(rf"(?:export\s+|local\s+|readonly\s+)?({NAME})=(.*)", re.DOTALL)
BEFORE = re.compile(r"(?:then|do|else|\{|\(|!|sudo(?:\s+-\w+)*|exec|time|nohup|command)\s+")
"""Words before a command that do not change what it does."""
CASE_LABEL = re.compile(r"\(?[\w*|\"'.\-\[\] ]{1,60}\)\s*")
FUNCTION = re.compile(rf"(?:function\s+)?({NAME})\s*\(\s*\)\s*\{{?|function\s+({NAME})\s*\{{?")
FOLDER = re.compile(r"\$\(\s*(?:cd\s+)?\"?\$?\(?\s*dirname[^()]*\)?\"?\s*(?:&&\s*pwd)?\s*\)")
"""The folder of the script itself."""
PROGRAM = re.compile(r"(?:\$\(|`)\s*(?:which|command\s+-v|type\s+-p)\s+([\w./-]+)\s*(?:\)|`)")
"""The path of a program."""
OPENS, CLOSES = ("if", "case", "while", "until", "for"), ("fi", "esac", "done")
OPERATORS = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.floordiv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}


@dataclass(frozen=True)
class Command:
    """A simple command: its words with variables replaced, and whether a branch or a function
    holds it.
    """

    line: int
    words: tuple[str, ...]
    is_conditional: bool = False

    @property
    def text(self) -> str:
        return " ".join(self.words)


def commands(text: str, variables: Mapping[str, str] | None = None, folder: str = ".") -> Iterator[Command]:
    """The commands of a script in order, loops over words expanded. `variables` have values that
    the script does not give; `folder` is the script's.
    """
    text = PROGRAM.sub(lambda found: found[1], FOLDER.sub(lambda _: folder, text))
    statements = list(_statements(text))
    yield from _Reader(statements, dict(variables or {}), dict(variables or {})).run(0, len(statements))


def _statements(text: str) -> Iterator[tuple[int, str]]:
    """Simple commands as text, with the line on which each begins."""
    lines = text.split("\n")
    has_root_prompts = not any(re.match(r"\s*(?:sudo\s+)?(?:/\S*/)?tc\s", line) for line in lines)
    number = 0
    while number < len(lines):
        first, line = number + 1, lines[number].rstrip("\r")
        number += 1
        if has_root_prompts:
            line = ROOT_PROMPT.sub("", line, count=1)
        line = PROMPT.sub("", line, count=1) if PROMPT.match(line) else line
        if line.lstrip().startswith("#"):
            continue
        while line.endswith("\\") and number < len(lines):
            line = f"{line[:-1]} {lines[number].strip()}"
            number += 1
        for statement in _split(line):
            head = FUNCTION.match(statement)
            rest = statement[head.end() :].strip() if head else statement
            if head:
                yield first, head[0]
            if rest:
                yield first, rest


def _split(line: str) -> Iterator[str]:
    """The commands of a line, separated by ; & | and their doubles outside of quotes."""
    quote, depth, start = "", 0, 0
    place = 0
    while place < len(line):
        char = line[place]
        if char == "\\":
            place += 2
            continue
        if quote:
            quote = "" if char == quote else quote
        elif char in "'\"`":
            quote = char
        elif (char == "(" and line[max(0, place - 1)] == "$") or (char == "(" and depth):
            depth += 1
        elif char == ")" and depth:
            depth -= 1
        elif not depth and char == "#" and (place == 0 or line[place - 1].isspace()):
            line = line[:place]
            break
        elif (not depth and char in ";|") or (char == "&" and not depth and line[max(0, place - 1)] != ">"):
            if line[start:place].strip():
                yield line[start:place].strip()
            start = place + 1
        place += 1
    if line[start:].strip():
        yield line[start:].strip()


@dataclass
class _Reader:
    statements: list[tuple[int, str]]
    variables: dict[str, str]
    fixed: Mapping[str, str]
    """Variables of the user, which assignments do not change."""
    depth: int = 0
    """Branches and functions around a statement."""
    count: int = 0
    calls: int = 0
    bodies: dict[str, tuple[int, int]] = field(default_factory=dict)
    """The statements of each function."""
    first_words: set[str] = field(default_factory=set)
    """The programs and functions that statements name."""

    def __post_init__(self) -> None:
        texts = (self._without_prefix(CASE_LABEL.sub("", text, count=1)) for _, text in self.statements)
        self.first_words = {word for text in texts if (word := text.partition(" ")[0])}

    def run(self, place: int, end: int) -> Iterator[Command]:
        while place < end:
            line, text = self.statements[place]
            place += 1
            text = CASE_LABEL.sub("", text, count=1) if CASE_LABEL.match(text) and self.depth else text
            text = self._without_prefix(text)
            if loop := re.fullmatch(rf"for\s+({NAME})\s+in\s+(.*)", text, re.DOTALL):
                stop = self._end_of_loop(place, end)
                for value in self._words(loop[2])[:64]:
                    self.variables[loop[1]] = value
                    yield from self.run(place, stop)
                    if self.count > MAX_COMMANDS:
                        return
                place = stop + 1
                continue
            word = text.split(maxsplit=1)[0] if text.split() else ""
            function = FUNCTION.fullmatch(text)
            if function:
                name = function[1] or function[2]
                self.bodies[name] = (place, self._end_of_function(place, end, opened=text.endswith("{")))
                if name in self.first_words:  # its calls are read, with their arguments
                    place = self.bodies[name][1] + 1
                    continue
            if function or word in OPENS:
                self.depth += 1
            if word in (*CLOSES, "}"):
                self.depth = max(0, self.depth - 1)
            if word in ("", "{", "}", ")", "do", "then", "else", *OPENS, *CLOSES, "elif") or function:
                continue
            self.count += 1
            if self.count > MAX_COMMANDS:
                return
            words = self._assigned(text)
            if words and words[0] in self.bodies:
                yield from self._called(self.bodies[words[0]], words[1:])
            elif words:
                yield Command(line, tuple(words[:MAX_WORDS]), self.depth > 0)

    def _called(self, body: tuple[int, int], arguments: list[str]) -> Iterator[Command]:
        """The commands of a function with these arguments."""
        if self.calls >= MAX_CALLS:
            return
        names = [*map(str, range(1, 10)), "@", "*"]
        saved = {name: self.variables.get(name) for name in names}
        given = dict(zip(names, arguments[:9], strict=False))
        depth, self.depth = self.depth, self.depth + 1
        self.variables |= {**dict.fromkeys(names, ""), **given, "@": " ".join(arguments), "*": " ".join(arguments)}
        self.calls += 1
        yield from self.run(*body)
        self.calls -= 1
        self.depth = depth
        self.variables |= {name: value for name, value in saved.items() if value is not None}
        for name, value in saved.items():
            if value is None:
                del self.variables[name]

    def _end_of_function(self, place: int, end: int, *, opened: bool) -> int:
        """The statement that closes a function whose body begins at `place`."""
        depth = int(opened)
        for index in range(place, end):
            text = self.statements[index][1]
            depth += (
                text == "{" or text.startswith("{ ") or (FUNCTION.fullmatch(text) is not None and text.endswith("{"))
            )
            depth -= text.startswith("}")
            if depth <= 0 and (opened or text.startswith("}")):
                return index
        return end

    @staticmethod
    def _without_prefix(text: str) -> str:
        while match := BEFORE.match(text):
            text = text[match.end() :]
        return text.removesuffix(" }").strip() if text.endswith(" }") else text

    def _end_of_loop(self, place: int, end: int) -> int:
        """The statement `done` of a loop that begins before `place`."""
        depth = 1
        for index in range(place, end):
            word = re.split(r"[\s;]", self.statements[index][1].removeprefix("do "), maxsplit=1)[0]
            depth += word in ("for", "while", "until")
            depth -= word == "done"
            if depth == 0:
                return index
        return end

    def _assigned(self, text: str) -> list[str]:
        """The words of a command; those that assign a variable are applied and left out."""
        words = self._words(text)
        while words and (found := ASSIGNMENT.fullmatch(words[0])):
            if found[1] not in self.fixed:
                self.variables[found[1]] = found[2]
            words = words[1:]
        if len(words) > 1 and words[0] in ("export", "local", "readonly", "declare"):
            for word in words[1:]:
                if (found := ASSIGNMENT.fullmatch(word)) and found[1] not in self.fixed:
                    self.variables[found[1]] = found[2]
            return []
        return words

    def _words(self, text: str) -> list[str]:
        """The words of a command, without redirections."""
        words: list[str] = []
        for word, quoted in _tokens(text):
            expanded = word if quoted == "'" else self._expanded(word)
            words += [expanded] if quoted else expanded.split()
        return _without_redirections(words)

    def _expanded(self, text: str) -> str:
        text = re.sub(r"\$\(\(([^()]*(?:\([^()]*\)[^()]*)*)\)\)", lambda found: self._arithmetic(found[1]), text)
        text = re.sub(r"\$\[([^\[\]]*)\]", lambda found: self._arithmetic(found[1]), text)
        text = re.sub(rf"\$\{{({NAME}|[0-9]):?[-=]([^{{}}]*)\}}", lambda found: self._value(found[1], found[2]), text)
        text = re.sub(rf"\$\{{({NAME}|[0-9@*])(?::?\?[^{{}}]*)?\}}", lambda found: self._value(found[1]), text)
        return re.sub(rf"\$({NAME}|[0-9@*])", lambda found: self._value(found[1]), text)

    def _value(self, name: str, default: str | None = None) -> str:
        value = self.variables.get(name, default)
        return f"${{{name}}}" if value is None else value

    def _arithmetic(self, text: str) -> str:
        plain = re.sub(rf"\$?\{{?({NAME})\}}?", lambda found: self._value(found[1]), text)
        try:
            return str(_computed(plain))
        except (ValueError, SyntaxError, ZeroDivisionError, RecursionError, MemoryError):
            return f"$(({' '.join(text.split())}))".replace(" ", "")


def _computed(text: str) -> int:
    """The value of an arithmetic expression of whole numbers."""
    if len(text) > 100 or not re.fullmatch(r"[\d\s+\-*/%()]+", text):
        raise ValueError(text)

    def value(node: ast.expr) -> int:
        if isinstance(node, ast.Constant) and isinstance(node.value, int):
            return node.value
        if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
            return int(OPERATORS[type(node.op)](value(node.left), value(node.right)))
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return -value(node.operand)
        raise ValueError(text)

    return value(ast.parse(text.strip(), mode="eval").body)


def _tokens(text: str) -> Iterator[tuple[str, str]]:
    """Words with the quote around them: ' or ", empty without one. A word that is partly quoted
    counts as quoted with \".
    """
    word, quote, kind, depth, place = "", "", "", 0, 0
    started = False
    while place < len(text):
        char = text[place]
        if char == "\\" and quote != "'" and place + 1 < len(text):
            word += text[place + 1]
            started, place = True, place + 2
            continue
        if quote:
            if char == quote:
                quote = ""
            else:
                word += char
        elif char in "'\"":
            quote, kind, started = char, char if not word and not kind else '"', True
        elif char.isspace() and not depth:
            if started:
                yield word, kind
            word, kind, started = "", "", False
        else:
            depth += char in "({" and (word.endswith("$") or depth > 0)
            depth -= char in ")}" and depth > 0
            word += char
            started = True
        place += 1
    if started:
        yield word, kind


def _without_redirections(words: list[str]) -> list[str]:
    kept: list[str] = []
    skip = False
    for word in words:
        if skip:
            skip = False
        elif re.fullmatch(r"\d?(?:>>?|<)(?:&\d)?", word):
            skip = "&" not in word
        elif not re.fullmatch(r"&|\d?(?:>>?|<)\S+|&>\S+", word):
            kept.append(word)
    return kept
