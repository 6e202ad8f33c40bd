# SPDX-License-Identifier: MIT
"""c_source: reads C and C++ just well enough for check_style: where comments and strings are, and
where each function starts and ends. It is no parser: it follows braces, and takes a brace for a
function's when what stands before it ends like a function's head.
"""
import re

TOKEN = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(?P<mark>[^()\s\\]{0,16})\(.*?\)(?P=mark)"'
    r'|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])\'(?:\\.|[^\'\\\n])*\'', re.S)


def blank(text):
    """The same text, each comment and literal replaced by blanks, line breaks kept."""
    def spaces(match):
        if match.group(0).startswith('"') and is_include(text, match.start()):
            return match.group(0)
        return re.sub(r"[^\n]", " ", match.group(0))
    return TOKEN.sub(spaces, text)


def is_include(text, at):
    line = text[text.rfind("\n", 0, at) + 1:at]
    return re.match(r"\s*#\s*include\s*$", line) is not None


# What may stand between a function's parameters and its body.
TAIL = re.compile(
    r"\)\s*(?:const|volatile|noexcept(?:\s*\([^()]*\))?|override|final|mutable|&&?"
    r"|->\s*[\w:<>,&*\s]+|requires\b[^;{}]*|:[^;{}]*|\s)*$")
NOT_FUNCTION = re.compile(r"\b(?:namespace|class|struct|union|enum)\b[^()]*$|=\s*$")
CONTROL = re.compile(r"^\s*(?:if|else|for|while|switch|do|try|catch)\b")


def functions(code):
    """Yields (line, name, lines) of each function definition in blanked code."""
    code = re.sub(r"^[ \t]*#[^\n]*(?:\\\n[^\n]*)*", lambda m: re.sub(r"[^\n]", " ", m.group(0)),
                  code, flags=re.M)
    # `: member_{x}, other_{y}` before a constructor's body: these braces open no scope.
    code = re.sub(r"((?<!:):\s*|,\s*)([\w:<>]+\s*)\{([^{};]*)\}", r"\1\2(\3)", code)
    depth, start, found = 0, 0, None
    for match in re.finditer(r"[;{}]", code):
        mark = match.group(0)
        if mark == "{":
            head = code[start:match.start()]
            if found is None and is_function(head):
                found = (depth, first_line(code, start), title(head))
            depth += 1
        elif mark == "}":
            depth -= 1
            if found and depth == found[0]:
                yield found[1], found[2], code.count("\n", 0, match.start()) + 2 - found[1]
                found = None
        start = match.end()


def is_function(head):
    return (TAIL.search(head) is not None and NOT_FUNCTION.search(head) is None
            and CONTROL.search(head) is None)


def first_line(code, start):
    skipped = len(code[start:]) - len(code[start:].lstrip())
    return code.count("\n", 0, start + skipped) + 1


def title(head):
    match = re.search(r"([\w:~]+|operator\s*\S+)\s*\(", head)
    return match.group(1) if match else "function"
