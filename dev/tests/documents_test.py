# SPDX-License-Identifier: MIT
"""documents_test: links between the documents, and to files of the project, lead somewhere."""
import pathlib
import re
import unittest

from sample import DEV

ROOT = DEV.parent
FENCES = re.compile(r"^```.*?^```$", re.S | re.M)


def documents():
    return [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "bench").glob("*.md")]


def anchors(path):
    """The names of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", FENCES.sub("", path.read_text()), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def broken(path):
    for target in re.findall(r"\]\(([^)\s]+)\)", FENCES.sub("", path.read_text())):
        if re.match(r"\w+:", target):
            continue
        name, _, anchor = target.partition("#")
        to = (path.parent / name).resolve() if name else path
        if not to.exists():
            yield f"{path.relative_to(ROOT)}: no {target}"
        elif anchor and anchor not in anchors(to):
            yield f"{path.relative_to(ROOT)}: no heading for {target}"


class Documents(unittest.TestCase):
    def test_links_lead_somewhere(self):
        self.assertEqual([fault for path in documents() for fault in broken(path)], [])

    def test_pages_that_are_named_are_there(self):
        """Headers and sources name pages as docs/heaps.md."""
        for folder in ("include", "src", "tests", "examples", "fuzz", "tools", "bench"):
            for path in (ROOT / folder).rglob("*.[chm]*"):
                for name in re.findall(r"docs/[\w/]+\.md", path.read_text(errors="replace")):
                    self.assertTrue((ROOT / name).exists(), f"{path.relative_to(ROOT)}: no {name}")

    def test_the_front_page_leads_to_every_page(self):
        """By at most two steps; pages of design and decisions by their folders."""
        seen = set()
        todo = [(ROOT / "README.md", 0)]
        for path, steps in todo:
            if path in seen or path.suffix != ".md":
                continue
            seen.add(path)
            targets = re.findall(r"\]\(([^)#\s]+)", path.read_text()) if steps < 2 else []
            todo += [((path.parent / target).resolve(), steps + 1) for target in targets]
        wanted = set((ROOT / "docs").glob("*.md")) - {ROOT / "docs/progress.md"}
        self.assertEqual(wanted - {pathlib.Path(path) for path in seen}, set())


if __name__ == "__main__":
    unittest.main()
