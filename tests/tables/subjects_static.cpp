// subjects_static: the macros of tarn/heap/malloc_table.h, over what is said at compile time.
//
// SPDX-License-Identifier: MIT
#include "subjects.hpp"
#include "tarn/heap/tlsf.h"
#include "tarn/pool/static_pool.h"

namespace tables {

namespace {

TARN_STATIC_TLSF(message_heap, 4 << 20)
TARN_TABLE_OF_STATIC_HEAP(message_table, message_heap)

TARN_STATIC_POOL(packet_pool, 112, 128)
TARN_TABLE_OF_STATIC_POOL(packet_table, packet_pool, 112)

#define RECORD_CLASSES(CLASS) CLASS(32, 400) CLASS(96, 400) CLASS(240, 400)
TARN_STATIC_HEAP(record_heap, RECORD_CLASSES)
TARN_TABLE_OF_STATIC_HEAP(record_table, record_heap)

struct Messages : Subject {
  Messages() : heap(new message_heap()) { table = message_table(heap.get()); }
  long long live() const override {
    return static_cast<long long>(message_heap_stats(heap.get()).blocks);
  }
  bool is_sound() const override { return message_heap_check(heap.get()) == 1; }
  std::unique_ptr<message_heap> heap;
};
struct Packets : Subject {
  Packets() : pool(new packet_pool()) { table = packet_table(pool.get()); }
  long long live() const override {
    return static_cast<long long>(packet_pool_stats(pool.get()).in_use);
  }
  bool is_sound() const override { return packet_pool_check(pool.get()) == 1; }
  std::unique_ptr<packet_pool> pool;
};
struct Records : Subject {
  Records() : heap(new record_heap()) { table = record_table(heap.get()); }
  long long live() const override {
    long long blocks = 0;
    record_heap_each_class(
        heap.get(),
        [](const tarn_static_stats* stats, void* sum) {
          *static_cast<long long*>(sum) += static_cast<long long>(stats->in_use);
        },
        &blocks);
    return blocks;
  }
  bool is_sound() const override { return record_heap_check(heap.get()) == 1; }
  std::unique_ptr<record_heap> heap;
};

std::unique_ptr<Subject> messages() { return limited(std::make_unique<Messages>(), 20'000, 4096); }
std::unique_ptr<Subject> packets() { return limited(std::make_unique<Packets>(), 112, 16); }
std::unique_ptr<Subject> records() { return limited(std::make_unique<Records>(), 240, 16); }

}  // namespace

std::vector<Kind> kinds_at_compile_time() {
  return {{"static_tlsf", messages}, {"static_pool_in_c", packets}, {"static_heap_in_c", records}};
}

}  // namespace tables
