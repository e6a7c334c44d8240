"""All mutants of a crate in one program, in which an environment variable puts one into effect.

A build of a crate takes a minute, its tests take another; the tests that reach one place take a
second. In the sources each place of a mutant asks a number: `a < b` becomes

    (match (&(a), &(b)) { (l, r) => match crate::mutant_switch::at(7) {
        0 => *l <= *r, 1 => *l >= *r, _ => *l < *r } })

A constant is changed where it is used. Where the compiler refuses such an expression, as in a
pattern, its mutants stand apart: each takes a build of its own. So do operators whose operands
[`operands`] does not find. The operands of a changed operator stay what they were.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

SWITCH = """//! Which mutant is in effect, and which places a test reaches.
use std::fs::File;
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{LazyLock, Mutex};

static CHOSEN: LazyLock<u32> =
    LazyLock::new(|| std::env::var("MUTANT").ok().and_then(|number| number.parse().ok()).unwrap_or(0));
static FILE: LazyLock<Option<Mutex<File>>> =
    LazyLock::new(|| std::env::var("MUTANTS_REACHED").ok().map(|path| Mutex::new(File::create(path).unwrap())));
static REACHED: [AtomicBool; COUNT] = [const { AtomicBool::new(false) }; COUNT];

/// 0 if the mutant of this number is in effect, 1 for the one after it, and so on.
pub fn at(first: u32) -> u32 {
    if let Some(file) = &*FILE {
        if !REACHED[first as usize].swap(true, Ordering::Relaxed) {
            writeln!(file.lock().unwrap(), "{first}").unwrap();
        }
    }
    CHOSEN.wrapping_sub(first)
}
"""

_TOKEN = re.compile(
    r"[A-Za-z_]\w*|\d[\w]*(?:\.\d\w*)?|->|=>|\.\.=|\.\.|<<=|>>=|[-+*/%^&|]=|==|!=|<=|>=|&&|\|\||<<|>>|::|\S"
)
_PRECEDENCE = {
    **dict.fromkeys(("*", "/", "%"), 10),
    **dict.fromkeys(("+", "-"), 9),
    **dict.fromkeys(("<<", ">>"), 8),
    "&": 7,
    "^": 6,
    "|": 5,
    **dict.fromkeys(("==", "!=", "<", ">", "<=", ">="), 4),
    "&&": 3,
    "||": 2,
}
_ASSIGNMENTS = frozenset(("=", "+=", "-=", "*=", "/=", "%=", "^=", "&=", "|=", "<<=", ">>="))
_WORDS = frozenset(("return", "break", "if", "while", "match", "in", "else", "let", "move"))
_STOPS = _ASSIGNMENTS | {",", ";", "=>", "->", "..", "..=", ":"}
_BLOCKS = frozenset(("if", "match", "loop", "unsafe", "while", "for", "move", "return", "break", "|", "||", "{"))
_PAIRS = {")": "(", "]": "[", "}": "{"}


@dataclass(frozen=True)
class Token:
    start: int
    end: int
    text: str


@dataclass
class Tokens:
    """The tokens of a source, of which literals are underscores and comments blanks."""

    code: str
    all: list[Token] = field(init=False)
    matching: dict[int, int] = field(init=False, default_factory=dict)
    """The index of a bracket's other one."""

    def __post_init__(self) -> None:
        self.all = [Token(*found.span(), found.group()) for found in _TOKEN.finditer(self.code)]
        opened: list[int] = []
        for index, token in enumerate(self.all):
            if token.text in "([{":
                opened.append(index)
            elif token.text in _PAIRS and opened:
                other = opened.pop()
                self.matching[index], self.matching[other] = other, index

    def at(self, start: int) -> int:
        """The index of the token that begins at this place."""
        return bisect_right(self.all, start, key=lambda token: token.start) - 1

    def precedence(self, index: int) -> int | None:
        """Of a binary operator, which has blanks at both sides and an operand before it."""
        token = self.all[index]
        if token.text not in _PRECEDENCE or not index:
            return None
        spaced = self.code[token.start - 1].isspace() and self.code[token.end : token.end + 1].isspace()
        before = self.all[index - 1].text
        is_operand = before in ")]}?" or ((before[0].isalnum() or before[0] == "_") and before not in _WORDS)
        return _PRECEDENCE[token.text] if spaced and is_operand else None

    def operands(self, index: int) -> tuple[int, int, int, int] | None:
        """Beginning and end of the operands of an operator; none if they are not found."""
        own = -1 if self.all[index].text in _ASSIGNMENTS else self.precedence(index)
        if own is None:
            return None
        first = self._first(index, own)
        last = self._last(index, own)
        if first is None or last is None or first >= index or last <= index:
            return None
        return self.all[first].start, self.all[index - 1].end, self.all[index + 1].start, self.all[last].end

    def _first(self, index: int, own: int) -> int | None:
        place = index - 1
        while place >= 0:
            text = self.all[place].text
            if text == "}":
                # A statement before, or a block that is an operand.
                return None if place == index - 1 or self.all[place + 1].text in (".", "?", "as") else place + 1
            if text in _PAIRS:
                place = self.matching.get(place, 0) - 1
                continue
            precedence = self.precedence(place)
            is_bar = text in ("|", "||") and precedence is None
            if (
                text in "([{"
                or text in _STOPS
                or text in _WORDS
                or is_bar
                or (precedence is not None and precedence < own)
            ):
                return place + 1
            place -= 1
        return None

    def _last(self, index: int, own: int) -> int | None:
        place = index + 1
        if place >= len(self.all) or self.all[place].text in _BLOCKS:
            return None
        while place < len(self.all):
            text = self.all[place].text
            if text == "{" and self.all[place - 1].text[0].isupper() and not self._is_head(index):
                place = self.matching.get(place, place) + 1
                continue
            if text in "([" and place in self.matching:
                place = self.matching[place] + 1
                continue
            precedence = self.precedence(place)
            ends = text in "{}])" or text in _STOPS - {":"} or text in ("if", "else")
            if ends or (precedence is not None and precedence <= own):
                return place - 1
            place += 1
        return None

    def _is_head(self, index: int) -> bool:
        """In the condition of `if` or `while`, or in what is matched or iterated over."""
        place = index - 1
        while place >= 0:
            text = self.all[place].text
            if text in ("if", "while", "match", "in"):
                return True
            if text in "([{};," or text == "=>":
                return False
            place = self.matching.get(place, place) - 1
        return False


@dataclass(frozen=True)
class Change:
    """A mutant: the place in its source, and what stands there then."""

    number: int
    start: int
    end: int
    text: str
    kind: str
    """`operator`, `negation`, `number` or `function`."""


@dataclass
class _Node:
    """A part of a source that asks which mutant is in effect."""

    number: int
    start: int
    end: int
    render: Callable[[Callable[[int, int], str]], str]


def masked(source: str, tests: bool = False) -> str:
    """The source with underscores in the place of literals, and blanks in that of comments,
    attributes and, unless asked for, tests. Offsets stay.
    """
    found = None if tests else re.search(r"^#\[cfg\(test\)\]\nmod ", source, re.MULTILINE)
    kept = source[: found.start()] if found else source
    literal = re.compile(r'//[^\n]*|b?"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])\'|#!?\[[^\n]*\]|/\*.*?\*/', re.DOTALL)

    def mask(part: re.Match[str]) -> str:
        is_literal = part.group()[0] in "b\"'"
        return re.sub(r"[^\n]", "_" if is_literal else " ", part.group())

    return literal.sub(mask, kept) + re.sub(r"[^\n]", " ", source[len(kept) :])


_CONSTANT = re.compile(r"^( *)(pub(?:\([^)]*\))? )?const (\w+): ((?:[^=;\[]|\[[^\]]*\])+) = ", re.MULTILINE)
_RULE = re.compile(r"^    (\w+): [^=;\n]+ = ", re.MULTILINE)
MAX_VALUE = 1000
"""Characters of a constant whose value is written once for each of its mutants."""


def _end(code: str, start: int) -> int:
    """The semicolon that ends what begins here."""
    depth = 0
    for place in range(start, len(code)):
        if code[place] in "([{":
            depth += 1
        elif code[place] in ")]}":
            depth -= 1
        elif code[place] == ";" and depth == 0:
            return place
    return len(code)


@dataclass
class _Constant:
    name: str
    declaration: int
    start: int
    end: int
    kind: str
    is_rule: bool = False
    is_indented: bool = False
    is_public: bool = False


def _constants(code: str) -> Iterator[_Constant]:
    for found in _CONSTANT.finditer(code):
        indent, public, name, kind = found.groups()
        yield _Constant(
            name,
            found.start(),
            found.end(),
            _end(code, found.end()),
            kind,
            is_indented=bool(indent),
            is_public=bool(public),
        )
    rules = re.search(r"^rules! \{", code, re.MULTILINE)
    for found in _RULE.finditer(code, rules.end()) if rules else ():
        yield _Constant(found.group(1), found.start(), found.end(), _end(code, found.end()), "", is_rule=True)


class Switched:
    """The sources of a crate in which all but the mutants apart can be put into effect."""

    def __init__(self, sources: Mapping[str, str], changes: Mapping[str, Sequence[Change]]) -> None:
        """`sources`: the crate's files of src/ and tests/; `changes`: mutants of some of them."""
        self.sources = sources
        self.changes = changes
        self.apart: set[int] = set()
        """Numbers of the mutants that are not in the program."""
        self._codes = {name: masked(text, tests=True) for name, text in sources.items()}
        self._spans = {name: [(c.start, c.end) for c in _constants(code)] for name, code in self._codes.items()}
        self._nodes: dict[str, list[_Node]] = {name: [] for name in sources}
        self._beside: dict[str, list[tuple[int, str]]] = {name: [] for name in sources}
        self._numbers: dict[int, list[int]] = {}
        for name, own in changes.items():
            self._collect(name, own)
        self._first = {number: first for first, numbers in self._numbers.items() for number in numbers}

    def first(self, number: int) -> int | None:
        """The number by which a mutant's place is known to the program; none if it is apart."""
        return None if number in self.apart else self._first[number]

    def _collect(self, name: str, changes: Sequence[Change]) -> None:
        source = self.sources[name]
        code = masked(source)
        tokens = Tokens(code)
        constants = list(_constants(code))
        places: dict[tuple[int, int], list[Change]] = {}
        for change in sorted(changes, key=lambda change: change.number):
            places.setdefault((change.start, change.end), []).append(change)
        of_constants: dict[int, list[Change]] = {}
        for (start, _), group in places.items():
            inside = next((index for index, c in enumerate(constants) if c.start <= start < c.end), None)
            if inside is not None:
                of_constants.setdefault(inside, []).extend(group)
                continue
            self._numbers[group[0].number] = [change.number for change in group]
            node = _node(tokens, source, group)
            if node:
                self._nodes[name].append(node)
            else:
                self.apart |= {change.number for change in group}
        for index, group in of_constants.items():
            self._numbers[group[0].number] = [change.number for change in group]
            self._constant(name, constants[index], group)

    def _constant(self, name: str, constant: _Constant, group: Sequence[Change]) -> None:
        """Puts the mutants of a constant's value where the constant is used."""
        value = self.sources[name][constant.start : constant.end]
        uses = self._uses(name, constant)
        if not uses or len(value) > MAX_VALUE:
            self.apart |= {change.number for change in group}
            return
        first = group[0].number
        changed = [
            value[: change.start - constant.start] + change.text + value[change.end - constant.start :]
            for change in group
        ]
        for file, start, end, prefix in uses:
            names = [f"{prefix}{constant.name}_M{change.number}" for change in group]
            values = changed if constant.is_rule else names
            text = _choice(first, values, self.sources[file][start:end], self._crate(file))
            self._nodes[file].append(_Node(first, start, end, lambda _, text=text: text))  # type: ignore[misc]
        if not constant.is_rule:
            for change, new in zip(group, changed, strict=True):
                beside = f"#[doc(hidden)] pub const {constant.name}_M{change.number}: {constant.kind} = {new}; "
                self._beside[name].append((constant.declaration, f"/*<{first}*/{beside}/*{first}>*/"))

    def _crate(self, file: str) -> str:
        """The crate as a file names it: tests of the public interface are programs of their own."""
        return "crate" if "/src/" in file else f"ackclock_{file.split('/')[1]}"

    def _scope(self, name: str, constant: _Constant) -> tuple[str, list[str]] | None:
        """The regular expression of a constant's uses, of which the first group is the path before
        its name, and the files that may have them; none if another constant has the same name.
        """
        everywhere = list(self.sources)
        if constant.is_rule:
            return rf"()\bRULES\.{constant.name}\b", everywhere
        declares = rf"\bconst {constant.name}: "
        code = self._codes[name]
        if not constant.is_indented:
            folder = name.removesuffix(".rs").removesuffix("/mod") + "/"
            files = [file for file in everywhere if constant.is_public or file == name or file.startswith(folder)]
            at_top = re.compile(rf"^(?:[^ \n].*)?{declares}", re.MULTILINE)
            is_one = sum(at_top.search(self._codes[file]) is not None for file in files) == 1
            return (rf"(?<![\w:])((?:[a-z]\w*::)*){constant.name}\b", files) if is_one else None
        if len(re.findall(declares, code)) > 1:
            return None
        # The `impl`, or the function, that the constant is in.
        blocks = re.compile(r"^(?:impl(?:<[^>]*>)? (\w+)|(?:pub(?:\([^)]*\))? )?fn ).*\{$", re.MULTILINE)
        owner = (blocks.findall(code[: constant.start]) or [""])[-1]
        if not owner:
            return rf"()\b{constant.name}\b", [name]
        types = sum(len(re.findall(rf"\b(?:struct|enum) {owner}\b", text)) for text in self._codes.values())
        return (rf"\b((?:\w+::)*(?:{owner}|Self)::){constant.name}\b", everywhere) if types == 1 else None

    def _uses(self, name: str, constant: _Constant) -> list[tuple[str, int, int, str]]:
        """Where a constant is used: file, beginning, end, and the path by which mutants are known
        there; nothing if a use is in another constant, or not known for certain.
        """
        scope = self._scope(name, constant)
        module = name.split("/src/", 1)[1].removesuffix(".rs").removesuffix("/mod").replace("/", "::")
        uses = []
        for file in scope[1] if scope else ():
            text = self._codes[file]
            for found in re.finditer(scope[0], text) if scope and constant.name in text else ():
                prefix = found.group(1)
                before = text[max(0, found.start() - 600) : found.start()]
                is_import = re.search(r"\buse [^;]*$", before) is not None
                if is_import or before.endswith(("const ", ".")) or (prefix == "Self::" and file != name):
                    continue
                if any(start <= found.start() < end for start, end in self._spans[file]):
                    return []
                if file != name and not prefix and not constant.is_rule:
                    prefix = f"{self._crate(file)}::{module}::"
                uses.append((file, found.start(), found.end(), prefix))
        return uses

    def texts(self) -> dict[str, str]:
        """The files with their switches."""
        texts = {name: self._text(name) for name in self.sources if self._nodes[name] or self._beside[name]}
        present = {int(number) for text in texts.values() for number in re.findall(r"mutant_switch::at\((\d+)\)", text)}
        for first, numbers in self._numbers.items():
            if first not in present:
                self.apart |= set(numbers)
        return texts

    def _text(self, name: str) -> str:
        source = self.sources[name]
        nodes = [node for node in self._nodes[name] if not self.apart.issuperset(self._numbers[node.number])]
        beside = [
            _Node(0, place, place, lambda _, text=text: text)  # type: ignore[misc]
            for place, text in self._beside[name]
            if int(text[3 : text.index("*/")]) not in self.apart
        ]
        nodes = sorted([*nodes, *beside], key=lambda node: (node.start, -node.end))

        def render(start: int, end: int) -> str:
            parts, place = [], start
            for node in nodes:
                if node.start < place or node.end > end:
                    continue
                parts.append(source[place : node.start])
                text = node.render(render)
                parts.append(f"/*<{node.number}*/{text}/*{node.number}>*/" if node.number else text)
                place = node.end
            parts.append(source[place:end])
            return "".join(parts)

        return render(0, len(source))

    def drop(self, text: str, start: int, end: int) -> bool:
        """Sets the mutants apart to which an error of the compiler belongs: from `start` to `end`
        of a file's text with its switches. False if none is found.
        """
        opened: list[tuple[int, int]] = []
        switches: list[tuple[int, int, int]] = []
        for found in re.finditer(r"/\*<(\d+)\*/|/\*(\d+)>\*/", text):
            if found.group(1):
                opened.append((int(found.group(1)), found.start()))
            elif opened:
                number, begin = opened.pop()
                switches.append((begin, found.end(), number))
        around = [(stop - begin, number) for begin, stop, number in switches if begin <= start and end <= stop]
        if around:
            self.apart |= set(self._numbers[min(around)[1]])
            return True
        line = (text.rfind("\n", 0, start) + 1, text.find("\n", end))
        function = (text.rfind("fn ", 0, start), text.find("fn ", end) if "fn " in text[end:] else len(text))
        for first, last in ((start, end), line, function):
            if within := [number for begin, stop, number in switches if begin < last and stop > first]:
                self.apart |= {mutant for number in within for mutant in self._numbers[number]}
                return True
        return False


def _choice(first: int, changed: Sequence[str], original: str, crate: str = "crate") -> str:
    arms = " ".join(f"{index} => {text}," for index, text in enumerate(changed))
    return f"(match {crate}::mutant_switch::at({first}) {{ {arms} _ => {original} }})"


def _node(tokens: Tokens, source: str, group: Sequence[Change]) -> _Node | None:
    """The switch of the mutants of one place; none if they stand apart."""
    change = group[0]
    first, start, end = change.number, change.start, change.end
    texts = [one.text.strip() for one in group]
    before = source[start:end]
    if change.kind == "function":
        arms = " ".join(f"{index} => return {text}," for index, text in enumerate(texts))
        text = f" match crate::mutant_switch::at({first}) {{ {arms} _ => () }} "
        return _Node(first, start, start, lambda _: text)
    if change.kind == "number":
        if re.search(r"\d[eE][-+]$", source[:start][-4:]):
            return None  # The exponent of a number.
        index = tokens.at(start)
        after = tokens.all[index + 1].text if index + 1 < len(tokens.all) else ""
        is_operand = index > 0 and tokens.precedence(index - 1) is not None
        if after in ("=>", "|") and tokens.precedence(index + 1) is None and not is_operand:
            return None  # A pattern.
        text = _choice(first, texts, before)
        return _Node(first, start, end, lambda _: text)
    if change.kind == "negation":
        previous = source[:start].rstrip()[-2:]
        if previous[-1:] == "&" and previous != "&&":
            return None
        return _Node(first, start, end, lambda _: f"(crate::mutant_switch::at({first}) == 0) ^ !")
    found = tokens.operands(tokens.at(start))
    if not found:
        return None
    a, b, c, d = found

    def operator(render: Callable[[int, int], str]) -> str:
        left, right = render(a, b), render(c, d)
        if before in ("&&", "||"):
            sign, on = ("==", "on_m") if before == "&&" else ("!=", "!on_m")
            return f"(match crate::mutant_switch::at({first}) == 0 {{ on_m => if ({left}) {sign} on_m {{ {on} }} else {{ {right} }} }})"
        if before in _ASSIGNMENTS:
            arms = " ".join(f"{index} => {left} {text} value_m," for index, text in enumerate(texts))
            return f"match ({right}) {{ value_m => match crate::mutant_switch::at({first}) {{ {arms} _ => {left} {before} value_m }} }}"
        ref, value = ("&", "*") if _PRECEDENCE[before] == 4 else ("", "")
        arms = " ".join(f"{index} => {value}l {text} {value}r," for index, text in enumerate(texts))
        choice = f"match crate::mutant_switch::at({first}) {{ {arms} _ => {value}l {before} {value}r }}"
        return f"(match ({ref}({left}), {ref}({right})) {{ (l, r) => {choice} }})"

    return _Node(first, a, d, operator)
