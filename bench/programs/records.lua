-- Records in Lua: tables, string building, patterns, sorting. Lua takes all memory by realloc.
-- SPDX-License-Identifier: MIT
local count = tonumber(arg[1])
local state = 12345
local function number()
  state = (state * 1103515245 + 12345) % 2147483648
  return state
end

local records, lines = {}, {}
for i = 0, count - 1 do
  records[#records + 1] = {
    number = i, name = "name-" .. number() % 9973,
    tags = {"tag" .. number() % 97, "group" .. i % 13}, amount = number() % 100000 / 100,
  }
end
for i, record in ipairs(records) do
  lines[i] = table.concat({record.number, record.name, record.tags[1], record.tags[2]}, ",")
end
local words, word_count = {}, 0
for word in table.concat(lines, "\n"):gmatch("[a-z0-9]+") do
  word_count = word_count + (words[word] and 0 or 1)
  words[word] = (words[word] or 0) + 1
end
local groups, names, found, total = {}, {}, 0, 0
for _, record in ipairs(records) do
  if record.name:match("^name%-%d*7%d") then found = found + 1 end
  for _, tag in ipairs(record.tags) do
    if not groups[tag] then
      groups[tag] = {}
      names[#names + 1] = tag
    end
    table.insert(groups[tag], record)
  end
end
for _, tag in ipairs(names) do
  table.sort(groups[tag], function(a, b)
    if a.amount ~= b.amount then return a.amount < b.amount end
    return a.number < b.number
  end)
  total = total + groups[tag][1].number
end
print(found, word_count, #names, total)
