"""Generates the input files of the real programs, the same on every machine.

Nothing is downloaded: a C++ source, an SQL script, a puzzle for the solver, a picture and a git
history come from a few lines each, with a generator of random numbers of our own.

SPDX-License-Identifier: MIT
"""
import subprocess


class Numbers:
  """A multiplicative generator (Park and Miller): Python's own may change between versions."""

  def __init__(self, seed):
    self.state = seed

  def below(self, bound):
    self.state = self.state * 48271 % 2147483647
    return self.state % bound


def cxx_source(path, shapes):
  """Template-heavy C++: variants, visitors, compile-time recursion, containers of tuples."""
  lines = ["#include <algorithm>", "#include <functional>", "#include <map>", "#include <memory>",
           "#include <string>", "#include <tuple>", "#include <unordered_map>",
           "#include <variant>", "#include <vector>", "",
           "template <int N> struct Fold {",
           "  static constexpr long value = N + Fold<N - 1>::value;", "};",
           "template <> struct Fold<0> { static constexpr long value = 0; };", ""]
  for i in range(shapes):
    lines += [
        f"struct Shape{i} {{ int id = {i}; std::string name; double side; }};",
        f"template <class T> T scaled{i}(T value) {{ return value * T({i + 1}); }}",
        f"inline long area{i}(const std::vector<Shape{i}>& shapes) {{",
        "  std::map<std::string, std::tuple<int, double>> index;",
        "  for (const auto& shape : shapes) {",
        "    index.try_emplace(shape.name, shape.id, shape.side);",
        "  }",
        "  std::vector<std::tuple<double, int>> order;",
        "  for (const auto& [name, entry] : index) {",
        "    order.emplace_back(std::get<1>(entry), std::get<0>(entry));",
        "  }",
        "  std::sort(order.begin(), order.end());",
        f"  std::function<long(long)> step = [n = order.size()](long x) {{ return x + long(n); }};",
        f"  return step(scaled{i}(Fold<{100 + 7 * i}>::value));",
        "}", ""]
  alternatives = ", ".join(f"Shape{i}" for i in range(shapes))
  lines += [f"using Any = std::variant<{alternatives}>;",
            "std::string describe(const Any& any) {",
            "  return std::visit([](const auto& shape) { return shape.name + \"/\" +"
            " std::to_string(shape.side + shape.id); }, any);", "}",
            "std::unordered_map<std::string, std::shared_ptr<Any>> registry;", ""]
  path.write_text("\n".join(lines))


def sql_script(path, rows):
  numbers = Numbers(7)
  lines = ["PRAGMA journal_mode = OFF;",
           "CREATE TABLE item(id INTEGER PRIMARY KEY, name TEXT, kind INTEGER, note TEXT);",
           "CREATE INDEX item_name ON item(name);", "BEGIN;"]
  for i in range(rows):
    note = "x" * (numbers.below(60) + 1)
    lines.append(f"INSERT INTO item VALUES({i}, 'n{numbers.below(1000003)}', "
                 f"{numbers.below(100)}, '{note}');")
  lines += ["COMMIT;",
            "WITH RECURSIVE more(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM more WHERE i < "
            f"{rows}) INSERT INTO item SELECT i + {rows}, 'm' || (i * 7919 % 99991), i % 100, "
            "'copied' FROM more;",
            "SELECT count(*), sum(length(note)) FROM item WHERE name > 'm5';",
            "SELECT kind, count(*), max(name) FROM item GROUP BY kind ORDER BY kind LIMIT 5;",
            "SELECT count(*) FROM item a JOIN item b ON a.name = b.name;"]
  path.write_text("\n".join(lines) + "\n")


def solver_puzzle(path, variables):
  """Linear integers with an unknown function. No answer is waited for: the solver is given a
  fixed amount of work (`rlimit`), which it counts itself, the same on every allocator."""
  numbers = Numbers(5)
  lines = ["(set-logic QF_UFLIA)", "(declare-fun f (Int) Int)"]
  for i in range(variables):
    lines += [f"(declare-const x{i} Int)", f"(assert (and (<= 0 x{i}) (<= x{i} 40)))"]
  for i in range(3 * variables):
    a, b, c = (numbers.below(variables) for _ in range(3))
    lines.append(f"(assert (or (< (+ x{a} {numbers.below(9)}) (f x{b}))"
                 f" (> (f (+ x{c} {numbers.below(5)})) (- x{a} {numbers.below(30)}))"
                 f" (= (f x{b}) x{c})))")
    if i % 3 == 0 and a != b:
      lines.append(f"(assert (distinct (f x{a}) (f x{b}) x{c}))")
  lines += ["(check-sat)"]
  path.write_text("\n".join(lines) + "\n")


def picture(path, pages, shapes):
  """PostScript: paths, colours, text in several sizes, arrays and dictionaries."""
  numbers = Numbers(11)
  lines = ["%!PS-Adobe-3.0", "/box { newpath moveto 40 0 rlineto 0 30 rlineto -40 0 rlineto"
           " closepath } def"]
  for page in range(pages):
    lines.append(f"/table 400 dict def 0 1 300 {{ dup 10 string cvs cvn exch array"
                 f" table 3 1 roll put }} for % page {page}")
    for _ in range(shapes):
      x, y, size = numbers.below(550), numbers.below(750), numbers.below(20) + 6
      red, green = numbers.below(100) / 100, numbers.below(100) / 100
      lines += [f"{red} {green} 0.5 setrgbcolor {x} {y} box fill",
                f"/Times-Roman findfont {size} scalefont setfont {x} {y} moveto (text {x}) show",
                f"newpath {x} {y} moveto {y % 500} {x} {x} {y % 300} {y % 400} {x + 9} curveto"
                " stroke"]
    lines.append("showpage")
  path.write_text("\n".join(lines) + "\n")


def history(path, files, commits):
  """A git repository by fast-import: texts that change a little from commit to commit."""
  numbers = Numbers(23)
  stream = []
  texts = {}
  for commit in range(commits):
    stream.append("commit refs/heads/main\ncommitter Bench <bench@example.invalid> "
                  f"{1000000000 + commit} +0000\ndata 4\nstep\n")
    for _ in range(files if commit == 0 else files // 4):
      name = numbers.below(files) if commit else len(texts)
      lines = texts.setdefault(name, [f"line {i} of {name}" for i in range(120)])
      lines[numbers.below(len(lines))] = f"changed {commit} {numbers.below(1 << 30)}"
      text = "\n".join(lines) + "\n"
      stream.append(f"M 644 inline dir{name % 17}/file{name}.txt\ndata {len(text)}\n{text}\n")
  subprocess.run(["git", "init", "-q", "--bare", str(path)], check=True)
  subprocess.run(["git", "-C", str(path), "fast-import", "--quiet"], check=True,
                 input="".join(stream).encode())


def json_records(path, records, seed):
  numbers = Numbers(seed + 100)
  kinds, names = numbers.below(300) + 50, numbers.below(20000) + 1000
  rows = [f'{{"id": {i}, "kind": "k{numbers.below(kinds)}", "name": "{"n" * numbers.below(24)}'
          f'{numbers.below(names)}", "amount": {numbers.below(100000)}, '
          f'"tags": [{", ".join(str(numbers.below(50)) for _ in range(numbers.below(5)))}]}}'
          for i in range(records)]
  path.write_text("[" + ",\n".join(rows) + "]\n")


def xml_records(path, records, seed):
  """A document, and beside it the stylesheet that sorts and groups it."""
  numbers = Numbers(seed + 200)
  kinds = numbers.below(100) + 20
  rows = [f'<item id="{i}" kind="k{numbers.below(kinds)}"><name>{"word " * numbers.below(8)}'
          f'{numbers.below(99999)}</name><price>{numbers.below(9999)}</price></item>'
          for i in range(records)]
  path.write_text("<list>\n" + "\n".join(rows) + "\n</list>\n")
  path.with_suffix(".xsl").write_text("""<xsl:stylesheet version="1.0"
 xmlns:xsl="http://www.w3.org/1999/XSL/Transform">
<xsl:output method="xml" indent="yes"/>
<xsl:key name="by-kind" match="item" use="@kind"/>
<xsl:template match="/list"><groups>
<xsl:for-each select="item[generate-id() = generate-id(key('by-kind', @kind)[1])]">
<xsl:sort select="@kind"/>
<group kind="{@kind}" sum="{sum(key('by-kind', @kind)/price)}">
<xsl:for-each select="key('by-kind', @kind)"><xsl:sort select="price" data-type="number"/>
<name id="{@id}"><xsl:value-of select="translate(name, 'word', 'WORD')"/></name>
</xsl:for-each></group></xsl:for-each></groups></xsl:template>
</xsl:stylesheet>
""")


def pdf_pages(path, pages, seed):
  """A document of one font, with text, curves and filled shapes on each page."""
  numbers = Numbers(seed + 300)
  parts = ["<< /Type /Catalog /Pages 2 0 R >>",
           f"<< /Type /Pages /Count {pages} /Kids "
           f"[{' '.join(f'{4 + 2 * i} 0 R' for i in range(pages))}] >>",
           "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"]
  for i in range(pages):
    drawn = []
    for _ in range(200 + numbers.below(600)):
      x, y, size = numbers.below(550), numbers.below(780), numbers.below(18) + 5
      drawn += [f"{numbers.below(100) / 100} {numbers.below(100) / 100} 0.4 rg",
                f"BT /F1 {size} Tf {x} {y} Td (text {numbers.below(99999)} of a page) Tj ET",
                f"{x} {y} m {numbers.below(600)} {numbers.below(800)} {numbers.below(600)} "
                f"{numbers.below(800)} {x + 20} {y + 9} c {'f' if x % 3 == 0 else 'S'}"]
    content = "\n".join(drawn)
    parts += [f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents {5 + 2 * i} 0 R "
              "/Resources << /Font << /F1 3 0 R >> >> >>",
              f"<< /Length {len(content)} >>\nstream\n{content}\nendstream"]
  text, places = "%PDF-1.4\n", []
  for i, part in enumerate(parts):
    places.append(len(text))
    text += f"{i + 1} 0 obj\n{part}\nendobj\n"
  table = "".join(f"{place:010} 00000 n \n" for place in places)
  path.write_text(f"{text}xref\n0 {len(parts) + 1}\n0000000000 65535 f \n{table}trailer\n"
                  f"<< /Size {len(parts) + 1} /Root 1 0 R >>\nstartxref\n{len(text)}\n%%EOF\n")


def graph(path, nodes, seed):
  """Directed: most edges are between neighbours."""
  numbers = Numbers(seed + 400)
  lines = ["digraph g {"]
  for i in range(1, nodes):
    for _ in range(1 + numbers.below(2)):
      near = max(0, i - 1 - numbers.below(12))
      lines.append(f"  n{near} -> n{i} [label=\"{numbers.below(1000)}\"];")
  path.write_text("\n".join([*lines, "}"]) + "\n")


def words(path, count, seed):
  """A text in which few words are frequent."""
  numbers = Numbers(seed + 500)
  known = 5000 + numbers.below(60000)
  line, lines = [], []
  for _ in range(count):
    line.append(f"w{numbers.below(numbers.below(known) + 1)}")
    if len(line) == 12:
      lines.append(" ".join(line))
      line = []
  path.write_text("\n".join(lines) + "\n")


def php_script(path, records, seed):
  numbers = Numbers(seed + 600)
  path.write_text(f"""<?php
$state = {numbers.below(100000) + 1};
function number($most) {{ global $state; $state = ($state * 48271) % 2147483647;
  return $state % $most; }}
class Entry {{ public $name; public $tags = []; public $next = null;
  function __construct($name) {{ $this->name = $name; }} }}
$byName = []; $last = null; $sum = 0;
for ($i = 0; $i < {records}; $i++) {{
  $entry = new Entry('name' . number({numbers.below(40000) + 5000}) . str_repeat('x', number(30)));
  for ($k = number(5); $k > 0; $k--) $entry->tags[] = 'tag' . number(100);
  if (number(3) == 0) $entry->next = $last;
  $last = number(50) == 0 ? null : $entry;
  $byName[$entry->name][] = $entry;
  if (number(4) == 0) unset($byName[array_key_first($byName)]);
}}
foreach ($byName as $name => $entries) {{
  usort($entries, fn($a, $b) => count($a->tags) <=> count($b->tags));
  $sum += strlen(implode(',', array_merge(...array_map(fn($e) => $e->tags, $entries))));
}}
ksort($byName);
echo count($byName), ' ', $sum, ' ', strlen(json_encode($byName, 0, 5000)), "\\n";
""")
