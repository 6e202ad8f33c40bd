// two_pools: a program written for SmartHeap, as its author published them: a list whose links and
// strings have a pool each. Strings are made with new in a pool and ended with a plain delete. It
// is linked to tarn::new, which has no malloc.
//
// SPDX-License-Identifier: MIT
#include <smrtheap.hpp>

#include <cstdio>
#include <cstdlib>
#include <cstring>

extern "C" const char* tarn_version(void);

namespace {

struct Link {
  Link* next;
  Link* prev;
  char* value;
};

class List {
 public:
  List()
      : head_(nullptr),
        tail_(nullptr),
        links_(MemPoolInitFS(sizeof(Link), 1000, MEM_POOL_DEFAULT)),
        strings_(MemPoolInit(MEM_POOL_DEFAULT)) {}
  ~List() {  // All links and strings end with their pools.
    MemPoolFree(links_);
    MemPoolFree(strings_);
  }
  List(const List&) = delete;
  List& operator=(const List&) = delete;

  void append(const char* text) {
    Link* const link = static_cast<Link*>(MemAllocFS(links_));
    link->value = new (strings_) char[std::strlen(text) + 1];
    std::strcpy(link->value, text);
    link->next = nullptr;
    link->prev = tail_;
    (tail_ != nullptr ? tail_->next : head_) = link;
    tail_ = link;
  }
  void remove_head() {
    Link* const link = head_;
    if (link == nullptr) return;
    head_ = link->next;
    (head_ != nullptr ? head_->prev : tail_) = nullptr;
    delete[] link->value;
    MemFreeFS(link);
  }
  bool has(const char* text) const {
    for (const Link* link = head_; link != nullptr; link = link->next) {
      if (std::strcmp(link->value, text) == 0) return true;
    }
    return false;
  }
  std::size_t strings() const { return MemPoolCount(strings_); }

 private:
  Link* head_;
  Link* tail_;
  MEM_POOL links_;
  MEM_POOL strings_;
};

}  // namespace

int main() {
  List lists[5];
  char text[65];
  std::size_t kept[5] = {};
  unsigned random = 1994;
  for (int i = 0; i < 20000; ++i) {
    for (int l = 0; l < 5; ++l) {
      random = random * 1664525U + 1013904223U;
      if (random >> 16 < 0xccccU) {
        const std::size_t length = 1 + (random >> 8) % 64;
        std::memset(text, 'a' + l, length);
        text[length] = '\0';
        lists[l].append(text);
        ++kept[l];
      } else if (kept[l] != 0) {
        lists[l].remove_head();
        --kept[l];
      }
    }
  }
  for (int l = 0; l < 5; ++l) {
    if (lists[l].strings() != kept[l] || lists[l].has("not there")) return 1;
  }

  MEM_POOL const pool = MemPoolInit(MEM_POOL_SERIALIZE);
  char* value = new (pool) char[100];
  std::strcpy(value, "in a pool");
  delete value;  // As in the article, of an array.
  MemPoolFree(pool);
  // malloc is the program's, and what it gives may be ended by delete, too.
  void* const other = std::malloc(100);
  if (MemPoolOfPtr(other) != nullptr) return 1;
  ::operator delete(other);
  int* const number = new int(7);
  delete number;
  std::printf("tarn %s ended %zu strings with their pools\n", tarn_version(), kept[0]);
  return 0;
}
