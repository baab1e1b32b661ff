"""Finds the places of a C++ source where one small change makes a mutant.

A mutant changes one line: it turns a comparison, changes a constant, negates a condition or removes
a statement. Comments, texts, lines of the preprocessor, assertions, calls of the log and the switches
for the simulator's own mutations (`is_mutated`) are left alone. The source is expected in the layout
of clang-format: binary operators stand between spaces.
"""

import re
from dataclasses import dataclass

COMPARISONS = {"==": "!=", "!=": "==", "<": "<=", "<=": "<", ">": ">=", ">=": ">"}

# Numbers come first: a digit separator does not begin a character.
LEXICAL = re.compile(r"""(?P<kept>\b\d[\w'.]*)
    |//[^\n]*|/\*.*?\*/
    |R"(?P<mark>[^(\s]*)\(.*?\)(?P=mark)"|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])+'""", re.S | re.X)
PREPROCESSOR = re.compile(r"^[ ]*\#(?:[^\n]*\\\n)*[^\n]*", re.M)
SWITCH = re.compile(r"^.*\bis_mutated\(.*$", re.M)
LEFT_ALONE = re.compile(r"\b(?:static_assert|ASSERT\w*|log_?\.(?:debug|info|warning|error))\s*(?=\()")
COMPARISON = re.compile(r"(?<= )(?:==|!=|<=|>=|<|>)(?=[ \n])")
CONSTANT = re.compile(r"(?<![\w.'])(?:true|false|\d[\w'.]*)")
CONDITION = re.compile(r"\b(?:if|while) (?=\()")
DECLARATION = re.compile(r"(?:const|auto|[\w:<>*&]+)[ *&]+\w+ =(?!=)")
# A call, an assignment, an increment, or a jump: declarations have two words in a row.
STATEMENT = re.compile(r"(?:(?:\+\+|--)[\w:.\[\]>-]+|\*?[\w:.\[\]>-]+(?:\(.*\)|(?:\+\+|--)| (?:[-+*/%|&^]|<<|>>)?= .*)"
                       r"|static_cast<void>\(.*\)|return|break|continue);")
NO_STATEMENTS = re.compile(r"(?:return\b.+|\w+::\w+::.*\) = .*);")
BEGINS_AFTER = (";", "{", "}", ":", ")", "else")


@dataclass(frozen=True)
class Mutant:
    """One change: `text` takes the place of the characters from `begin` to `end`."""
    kind: str
    begin: int
    end: int
    text: str

    def line(self, source):
        return source.count("\n", 0, self.begin) + 1

    def applied(self, source):
        return source[:self.begin] + self.text + source[self.end:]

    def diff(self, source):
        """The line before and after."""
        number = self.line(source) - 1
        return source.split("\n")[number].strip(), self.applied(source).split("\n")[number].strip()


def blank(text):
    return re.sub(r"[^\n]", " ", text)


def closing(code, opening):
    """The place of the bracket that closes the one at `opening`; -1 when none does."""
    depth = 0
    for place in range(opening, len(code)):
        depth += (code[place] == "(") - (code[place] == ")")
        if depth == 0:
            return place
    return -1


def code_of(source):
    """The source with spaces in place of whatever is left alone, so that places stay the same."""
    code = LEXICAL.sub(lambda found: found[0] if found["kept"] else blank(found[0]), source)
    code = PREPROCESSOR.sub(lambda found: blank(found[0]), code)
    code = SWITCH.sub(lambda found: blank(found[0]), code)
    place = 0
    while found := LEFT_ALONE.search(code, place):
        place = closing(code, found.end()) + 1
        if place == 0:
            break
        code = code[:found.start()] + blank(code[found.start():place]) + code[place:]
    return code


def changed_constant(text):
    """The next number, in the same notation; None for what is no plain number."""
    if text in ("true", "false"):
        return "false" if text == "true" else "true"
    found = re.fullmatch(r"(0[xX][\da-fA-F']+|[\d']+)([uUlLzZ]*)", text)
    if found:
        digits = found[1].replace("'", "")
        if digits[:2].lower() == "0x":
            return hex(int(digits, 16) + 1) + found[2]
        return str(int(digits) + 1) + found[2] if digits == "0" or digits[0] != "0" else None
    found = re.fullmatch(r"(\d+)(\.\d+)([fF]?)", text)
    return f"{int(found[1]) + 1}{found[2]}{found[3]}" if found else None


def comparisons(code):
    for found in COMPARISON.finditer(code):
        yield Mutant("comparison", found.start(), found.end(), COMPARISONS[found[0]])


def constants(code):
    for found in CONSTANT.finditer(code):
        if (text := changed_constant(found[0])) is not None:
            yield Mutant("constant", found.start(), found.end(), text)


def conditions(code, source):
    """Those on one line. After an initialisation the condition is the second part."""
    for found in CONDITION.finditer(code):
        begin, end = found.end() + 1, closing(code, found.end())
        begin = code.rfind(";", begin, end) + 1 or begin
        condition = source[begin:end]
        if end < 0 or "\n" in condition or DECLARATION.match(condition.strip()):
            continue
        space = len(condition) - len(condition.lstrip())
        yield Mutant("condition", begin + space, end, f"!({condition[space:]})")


def statements(code):
    """Whole statements of one line; an empty block stands where one was, as after an `if`."""
    place, before = 0, ";"
    for line in code.split("\n"):
        text = line.strip()
        begin = place + len(line) - len(line.lstrip())
        place += len(line) + 1
        whole = text.count("(") == text.count(")") and text.count("{") == text.count("}")
        if (begin > place - len(line) - 1 and whole and before.endswith(BEGINS_AFTER) and
                STATEMENT.fullmatch(text) and not NO_STATEMENTS.fullmatch(text)):
            yield Mutant("statement", begin, begin + len(text), "{}")
        before = text or before


def mutants_of(source):
    """All mutants of a source, in the order of their places within each kind."""
    code = code_of(source)
    return [*comparisons(code), *constants(code), *conditions(code, source), *statements(code)]
