"""Records in Python: made, written as JSON, read back, searched by patterns, grouped, sorted.

SPDX-License-Identifier: MIT
"""
import json
import re
import sys


class Record:
  def __init__(self, number, name, tags, amount):
    self.number, self.name, self.tags, self.amount = number, name, tags, amount


def numbers(count, state=12345):
  for _ in range(count):
    state = (state * 1103515245 + 12345) % 2147483648
    yield state


def main(count):
  source = numbers(count * 3)
  records = [{"number": i, "name": f"name-{next(source) % 9973}",
              "tags": [f"tag{next(source) % 97}", f"group{i % 13}"],
              "amount": next(source) % 100000 / 100} for i in range(count)]
  text = json.dumps(records)
  objects = [Record(**row) for row in json.loads(text)]
  pattern = re.compile(r"name-(\d*)7(\d)")
  found = sum(1 for record in objects if pattern.match(record.name))
  words = re.sub(r"[^a-z0-9]+", " ", text.lower()).split()
  counts = {}
  for word in words:
    counts[word] = counts.get(word, 0) + 1
  groups = {}
  for record in objects:
    for tag in record.tags:
      groups.setdefault(tag, []).append(record)
  for members in groups.values():
    members.sort(key=lambda record: (record.amount, record.number))
  total = sum(members[0].number for members in groups.values())
  print(found, len(counts), len(groups), total)


main(int(sys.argv[1]))
