# Records in Ruby: objects, JSON there and back, patterns, hashes of arrays, sorting.
# SPDX-License-Identifier: MIT
require "json"

count = ARGV[0].to_i
state = 12345
number = lambda { state = (state * 1103515245 + 12345) % 2147483648 }

records = Array.new(count) do |i|
  {"number" => i, "name" => "name-#{number.call % 9973}",
   "tags" => ["tag#{number.call % 97}", "group#{i % 13}"],
   "amount" => (number.call % 100000) / 100.0}
end
text = JSON.generate(records)
records = JSON.parse(text)
found = records.count { |record| record["name"] =~ /name-(\d*)7(\d)/ }
words = Hash.new(0)
text.downcase.split(/[^a-z0-9]+/).each { |word| words[word] += 1 }
groups = Hash.new { |hash, tag| hash[tag] = [] }
records.each { |record| record["tags"].each { |tag| groups[tag] << record } }
total = groups.values.sum { |all| all.min_by { |r| [r["amount"], r["number"]] }["number"] }
puts "#{found} #{words.size} #{groups.size} #{total}"
