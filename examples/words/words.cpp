// words: counts the words of a text and prints the most frequent ones. Its nodes come from a pool,
// its strings from an arena; what it used is printed at the end, and nothing is freed one by one.
//
//   words < text        (words.c is the same in C)
//
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstring>

#include "tarn/arena/arena.hpp"
#include "tarn/arena/scratch.hpp"
#include "tarn/arena/shared_arena.hpp"
#include "tarn/pool/pool.hpp"

namespace {

struct Word {
  Word* next;
  const char* text;
  unsigned count;
};

class Counter {
 public:
  void add(const char* text, std::size_t length) {
    Word*& head = heads_[hash(text, length) % std::size(heads_)];
    for (Word* word = head; word != nullptr; word = word->next) {
      if (std::strncmp(word->text, text, length) == 0 && word->text[length] == '\0') {
        ++word->count;
        return;
      }
    }
    head = words_.create(Word{head, strings_.copy_string(text, length), 1});
  }

  void print_top(std::size_t most) {
    tarn::ScratchArena scratch;
    const std::size_t count = words_.pool().stats().live_blocks;
    Word** const all = scratch->create_array<Word*>(count);
    std::size_t i = 0;
    words_.for_each([&](Word& word) { all[i++] = &word; });
    std::sort(all, all + count, [](const Word* a, const Word* b) {
      return a->count != b->count ? a->count > b->count : std::strcmp(a->text, b->text) < 0;
    });
    for (i = 0; i < count && i < most; ++i) std::printf("%6u %s\n", all[i]->count, all[i]->text);
    std::printf("%zu words, %zu bytes of strings\n", count,
                static_cast<std::size_t>(strings_.stats().used_bytes));
  }

 private:
  static unsigned hash(const char* text, std::size_t length) {
    unsigned value = 2166136261;  // FNV-1a.
    for (std::size_t i = 0; i < length; ++i) {
      value = (value ^ static_cast<unsigned char>(text[i])) * 16777619;
    }
    return value;
  }

  tarn::ObjectPool<Word> words_;
  tarn::Arena strings_;
  Word* heads_[4096] = {};
};

}  // namespace

int main() {
  Counter counter;
  tarn::Scratch<char, 64> word(64);  // Longer words go to the heap.
  std::size_t length = 0;
  for (int c = std::getchar();; c = std::getchar()) {
    if (std::isalpha(c)) {
      if (length == word.size()) word.grow(2 * length);
      word[length++] = static_cast<char>(std::tolower(c));
    } else if (length != 0) {
      counter.add(word.data(), length);
      length = 0;
    }
    if (c == EOF) break;
  }
  counter.print_top(10);
}
