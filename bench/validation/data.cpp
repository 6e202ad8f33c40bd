// Data bases in memory.
//
// sql: rows of any length under two indexes are inserted, updated, deleted, selected and joined, as
// statements come. key_value: threads serve commands on strings and lists in one sharded table,
// through buffers that grow; now and then each takes over the keys of another.
//
// SPDX-License-Identifier: MIT
#include <barrier>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "../meter/process.h"
#include "../workloads/random.hpp"
#include "validation.hpp"

namespace tarn {
namespace {

struct Row {
  std::uint64_t id;
  std::size_t bytes;  // Of the blob behind.
};

char* blob_of(Row* row) { return reinterpret_cast<char*>(row + 1); }

Row* make_row(std::uint64_t id, std::size_t bytes, Row* old) {
  auto* const row = static_cast<Row*>(std::realloc(old, sizeof(Row) + bytes));
  if (row == nullptr) fail("out of memory");
  *row = {id, bytes};
  std::memset(blob_of(row), static_cast<int>('a' + id % 26), bytes);
  return row;
}

class Relation {
 public:
  Relation(Random& random, std::size_t names, unsigned doublings)
      : random_(random), names_(names), doublings_(doublings) {}
  ~Relation() {
    for (const auto& [id, row] : by_id_) std::free(row);
  }

  void insert() {
    const std::uint64_t id = next_++;
    by_id_.emplace(id, make_row(id, random_.log_size(16, doublings_), nullptr));
    by_name_.emplace(name(), id);
  }
  void update() {
    const auto found = some();
    if (found == by_id_.end()) return;
    found->second = make_row(found->first, random_.log_size(16, doublings_), found->second);
  }
  void remove() {
    const auto found = some();
    if (found == by_id_.end()) return;
    std::free(found->second);
    by_id_.erase(found);
  }
  // Entries of rows that have gone leave the index when a range meets them.
  std::uint64_t select(std::size_t most) {
    std::vector<std::string> result;
    for (auto at = by_name_.lower_bound(name()); at != by_name_.end() && result.size() < most;) {
      const auto found = by_id_.find(at->second);
      if (found == by_id_.end()) {
        at = by_name_.erase(at);
        continue;
      }
      result.push_back(at->first + '|' + std::string(blob_of(found->second), found->second->bytes));
      ++at;
    }
    std::uint64_t sum = result.size();
    for (const std::string& line : result) sum = sum * 7 + line.size();
    return sum;
  }
  std::uint64_t join(std::size_t most) {
    std::unordered_map<std::string, std::vector<std::uint64_t>> by_name;
    for (auto at = by_name_.lower_bound(name()); at != by_name_.end() && most-- != 0; ++at) {
      by_name[at->first.substr(0, 3)].push_back(at->second);
    }
    std::uint64_t sum = 0;
    for (const auto& [key, ids] : by_name) sum += ids.size() * ids.size();
    return sum;
  }
  std::size_t size() const { return by_id_.size(); }

 private:
  std::string name() {
    std::string name = std::to_string(random_.below(names_) * 7919 % 1'000'003);
    name.append(8 + name.size() * 3, '-');
    return name;
  }
  std::map<std::uint64_t, Row*>::iterator some() {
    return by_id_.lower_bound(next_ == 0 ? 0 : random_.below(next_));
  }

  Random& random_;
  std::size_t names_;
  unsigned doublings_;
  std::uint64_t next_ = 0;
  std::map<std::uint64_t, Row*> by_id_;
  std::multimap<std::string, std::uint64_t> by_name_;
};

struct Value {
  char* text = nullptr;
  std::size_t bytes = 0;
  std::deque<std::string> items;  // Of a list.
};

// A table of shards, each with a lock.
class Store {
 public:
  explicit Store(std::size_t shards) : shards_(shards) {}
  ~Store() {
    for (Shard& shard : shards_) {
      for (auto& [key, value] : shard.values) std::free(value.text);
    }
  }

  void set(const std::string& key, const std::string& text) {
    with(key, [&](Value& value) {
      std::free(value.text);
      value.text = static_cast<char*>(std::malloc(text.size()));
      if (value.text == nullptr) fail("out of memory");
      std::memcpy(value.text, text.data(), text.size());
      value.bytes = text.size();
    });
  }
  void append(const std::string& key, const std::string& text) {
    with(key, [&](Value& value) {
      value.text = static_cast<char*>(std::realloc(value.text, value.bytes + text.size()));
      if (value.text == nullptr) fail("out of memory");
      std::memcpy(value.text + value.bytes, text.data(), text.size());
      value.bytes += text.size();
    });
  }
  void push(const std::string& key, const std::string& text) {
    with(key, [&](Value& value) {
      value.items.push_back(text);
      if (value.items.size() > 40) value.items.pop_front();
    });
  }
  void get(const std::string& key, std::string& reply) {
    with(key, [&](Value& value) {
      reply += '$' + std::to_string(value.bytes) + ' ';
      if (value.text != nullptr) reply.append(value.text, value.bytes);
      for (const std::string& item : value.items) reply += item;
    });
  }
  void remove(const std::string& key) {
    Shard& shard = shard_of(key);
    const std::lock_guard locked(shard.lock);
    const auto found = shard.values.find(key);
    if (found == shard.values.end()) return;
    std::free(found->second.text);
    shard.values.erase(found);
  }

 private:
  struct Shard {
    std::mutex lock;
    std::unordered_map<std::string, Value> values;
  };
  Shard& shard_of(const std::string& key) {
    return shards_[std::hash<std::string>()(key) % shards_.size()];
  }
  template <class Use>
  void with(const std::string& key, Use use) {
    Shard& shard = shard_of(key);
    const std::lock_guard locked(shard.lock);
    use(shard.values[key]);
  }

  std::vector<Shard> shards_;
};

struct Commands {
  std::size_t keys;
  std::size_t least;
  unsigned doublings;
  std::uint64_t turns;
};

// Serves as many commands on the keys of one owner.
std::uint64_t serve(Store& store, const Commands& commands, std::size_t owner, std::uint64_t count,
                    Random& random) {
  std::uint64_t sum = 0;
  std::string reply;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::string key =
        "user:" + std::to_string(owner) + ":session:" + std::to_string(random.below(commands.keys));
    const std::uint64_t what = random.below(16);
    if (what < 6) {
      store.get(key, reply);
    } else if (what < 8) {
      store.remove(key);
    } else {
      const std::string text(random.log_size(commands.least, commands.doublings), 'v');
      if (what < 12) {
        store.set(key, text);
      } else if (what < 14) {
        store.append(key, text.substr(0, text.size() / 8 + 1));
      } else {
        store.push(key, text.substr(0, text.size() / 4 + 1));
      }
    }
    if (i % 32 == 31) {  // Replies go out together.
      sum = sum * 3 + reply.size();
      std::string().swap(reply);
    }
  }
  return sum;
}

}  // namespace

std::uint64_t run_sql(const Request& request) {
  Random random(request.seed * 128 + 1);
  Relation relation(random, random.between(2000, 100000),
                    static_cast<unsigned>(random.between(3, 6)));
  const std::size_t range = random.between(20, 200);
  std::uint64_t sum = 0;
  for (std::uint64_t i = 0; i < request.size; ++i) {
    const std::uint64_t what = random.below(100);
    if (what < 45) {
      relation.insert();
    } else if (what < 70) {
      relation.update();
    } else if (what < 97) {
      relation.remove();
    } else if (what < 99) {
      sum += relation.select(range);
    } else {
      sum += relation.join(range * 4);
    }
  }
  return sum * 1009 + relation.size();
}

std::uint64_t run_key_value(const Request& request) {
  Random random(request.seed * 128 + 2);
  const Commands commands{random.between(2000, 20000), random.between(16, 64),
                          static_cast<unsigned>(random.between(3, 6)), 16};
  Store store(random.between(8, 64));
  std::barrier meeting(static_cast<std::ptrdiff_t>(request.threads));
  std::vector<std::uint64_t> sums(request.threads);
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < request.threads; ++i) {
    threads.emplace_back([&, i, own = Random(random.next())]() mutable {
      for (std::uint64_t turn = 0; turn < commands.turns; ++turn) {
        const std::size_t owner = (i + turn) % request.threads;
        sums[i] += serve(store, commands, owner, request.size / commands.turns + 1, own);
        meeting.arrive_and_wait();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::uint64_t sum = commands.keys;
  for (const std::uint64_t each : sums) sum = sum * 31 + each;
  return sum;
}

}  // namespace tarn
