// Records in JavaScript: objects and JSON in V8's own heap, buffers and compression in malloc's.
// SPDX-License-Identifier: MIT
'use strict';
const zlib = require('zlib');

const count = Number(process.argv[2]);
let state = 12345;
const number = () => (state = Number((BigInt(state) * 1103515245n + 12345n) % 2147483648n));

const records = Array.from({length: count}, (_, i) => ({
  number: i, name: `name-${number() % 9973}`,
  tags: [`tag${number() % 97}`, `group${i % 13}`], amount: (number() % 100000) / 100,
}));
const text = JSON.stringify(records);
const rows = JSON.parse(text);
const found = rows.filter((row) => /name-(\d*)7(\d)/.test(row.name)).length;
const groups = new Map();
for (const row of rows) {
  for (const tag of row.tags) {
    if (!groups.has(tag)) groups.set(tag, []);
    groups.get(tag).push(row);
  }
}
let total = 0;
for (const members of groups.values()) {
  members.sort((a, b) => a.amount - b.amount || a.number - b.number);
  total += members[0].number;
}
// Many buffers of their own (outside V8's heap), each packed and unpacked.
let bytes = 0;
for (let i = 0; i + 200 <= rows.length; i += 200) {
  const page = Buffer.from(JSON.stringify(rows.slice(i, i + 200)));
  bytes += zlib.inflateRawSync(zlib.deflateRawSync(page, {level: 1})).length;
}
console.log(found, groups.size, total, bytes);
