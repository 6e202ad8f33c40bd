// packets COUNT: an interrupt handler receives packets into blocks of a lock-free static pool and
// queues them; the main loop handles them and gives the blocks back. A timer's signal stands for
// the interrupt, so this runs on Linux; on a microcontroller only start_interrupts() is different.
//
// SPDX-License-Identifier: MIT
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include <sys/time.h>

#include <atomic>

#include "tarn/pool/static_pool.hpp"

namespace {

struct Packet {
  std::uint32_t number;
  std::uint8_t data[60];
};

// Nothing here needs a heap: all memory that the program will ever use is known when it is linked.
constexpr std::size_t packets_max = 16;
tarn::StaticObjectPool<Packet, packets_max, tarn::LockFree> packets;
static_assert(packets.footprint_bytes() <= 1100, "the memory that this program has for packets");

// One writer (the handler), one reader (the main loop). Its slots suffice for all packets.
class Queue {
 public:
  void put(Packet* packet) {
    const std::size_t end = end_.load(std::memory_order_relaxed);
    slots_[end % packets_max] = packet;
    end_.store(end + 1, std::memory_order_release);  // Pairs with get(): the slot is written.
  }
  Packet* get() {
    const std::size_t begin = begin_.load(std::memory_order_relaxed);
    if (begin == end_.load(std::memory_order_acquire)) return nullptr;
    Packet* const packet = slots_[begin % packets_max];
    begin_.store(begin + 1, std::memory_order_release);
    return packet;
  }

 private:
  Packet* slots_[packets_max] = {};
  std::atomic<std::size_t> begin_{0};
  std::atomic<std::size_t> end_{0};
};

Queue received;
std::uint32_t next_number = 0;
std::atomic<std::uint32_t> lost{0};

// The interrupt handler. When the main loop is behind, a packet is lost: the handler never waits
// for the pool.
void on_interrupt(int) {
  for (int burst = 0; burst < 3; ++burst) {
    Packet* const packet = packets.try_create();
    if (packet == nullptr) {
      lost.fetch_add(1, std::memory_order_relaxed);
      continue;
    }
    packet->number = next_number++;
    for (std::uint8_t& byte : packet->data) byte = static_cast<std::uint8_t>(packet->number);
    received.put(packet);
  }
}

void start_interrupts() {
  struct sigaction action = {};
  action.sa_handler = on_interrupt;
  sigaction(SIGALRM, &action, nullptr);
  const itimerval every_ms = {{0, 1000}, {0, 1000}};
  setitimer(ITIMER_REAL, &every_ms, nullptr);
}

void stop_interrupts() {
  const itimerval never = {};
  setitimer(ITIMER_REAL, &never, nullptr);
  std::signal(SIGALRM, SIG_IGN);
}

}  // namespace

int main(int argc, char** argv) {
  const unsigned long count = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 300;
  start_interrupts();
  unsigned long handled = 0;
  while (handled < count) {
    Packet* const packet = received.get();
    if (packet == nullptr) continue;
    if (packet->number != handled || packet->data[59] != static_cast<std::uint8_t>(handled)) {
      std::fprintf(stderr, "packets: packet %lu is broken\n", handled);
      return 1;
    }
    packets.destroy(packet);
    ++handled;
  }
  stop_interrupts();
  while (Packet* const packet = received.get()) packets.destroy(packet);

  const tarn::StaticStats stats = packets.stats();
  std::printf("%lu packets handled, %zu in use, at most %zu of %zu at once, %u lost\n", handled,
              stats.in_use, stats.peak, stats.blocks, lost.load());
  return stats.in_use == 0 && packets.check() ? 0 : 1;
}
