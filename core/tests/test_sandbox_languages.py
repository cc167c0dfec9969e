"""The table of languages: names, aliases, and what is read off a Java source."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cascade_rl.sandbox import LANGUAGES, UnknownLanguage, find_language


@pytest.mark.parametrize(
    ("said", "name"),
    [
        ("python", "python"), (" Py3 ", "python"), ("PYTHON3", "python"), ("c", "c"),
        ("c11", "c"), ("cpp", "cpp17"), ("C++", "cpp17"), ("cc", "cpp17"), ("c++20", "cpp20"),
        ("java", "java"), ("rs", "rust"), ("golang", "go"), ("js", "javascript"),
        ("node", "javascript"),
    ],
)  # fmt: skip
def test_names_and_aliases(said, name):
    assert find_language(said).name == name


@pytest.mark.parametrize("said", ["cobol", "", "python2"])
def test_an_unknown_name_is_an_error_that_lists_the_known(said):
    with pytest.raises(UnknownLanguage, match=re.escape(f"unknown language {said!r}; known: ")):
        find_language(said)


def test_no_alias_means_two_languages():
    words = [word for row in LANGUAGES.values() for word in (row.name, *row.aliases)]
    assert len(words) == len(set(words))
    assert words == [word.lower() for word in words]


def test_every_placeholder_of_every_row_is_filled():
    always = {"source", "artifact", "memory_mb", "static"}
    for row in LANGUAGES.values():
        known = always | set(row.tools) | set(row.names("class Main {}"))
        commands = [*row.steps, *([] if row.name == "javascript" else [row.run])]
        used = {name for words in commands for name in re.findall(r"{(\w+)}", " ".join(words))}
        assert used <= known, row.name
        assert row.native_python == (row.name == "python")


@pytest.mark.parametrize(
    ("source", "file", "main"),
    [
        ("public class A { public static void main(String[] a) {} }", "A", "A"),
        ("class B { static void main(String[] a) {} }", "B", "B"),
        ("class X {} public class Y { static void main(String[] a) {} }", "Y", "Y"),
        ("class X { static void main(String[] a) {} } public class Y {}", "Y", "X"),
        ("class A { class B { } void f() {} } class C { void main(String[] a) {} }", "C", "C"),
        ("// public class No\n/* class No {*/ class A { String s = \"class No {\"; char c = '{';"
         " void main() {} }", "A", "A"),
        ("public final class F { void main() {} }", "F", "F"),
        ("public record R(int x) { static void main(String[] a) {} }", "R", "R"),
        ("interface I {}", "Main", "Main"),
        ("", "Main", "Main"),
    ],
)  # fmt: skip
def test_the_names_in_a_java_source(source, file, main):
    assert LANGUAGES["java"].names(source) == {"file": file, "main": main}


def test_the_documentation_lists_every_row():
    page = (Path(__file__).parents[2] / "docs" / "sandbox.md").read_text()
    table = page.partition("\n## Languages\n")[2].partition("\n## ")[0]
    rows = [[cell.strip() for cell in line.split("|")[1:4]] for line in table.splitlines()]
    assert [row for row in rows if row and row[0].startswith("`")] == [
        [f"`{row.name}`", ", ".join(row.aliases), ", ".join(row.tools)]
        for row in LANGUAGES.values()
    ]
