// every_call_fails: of the system calls that a piece of work makes, the n-th is refused, for every
// n; then the n-th and all later ones. Each piece is one way into the library. What cannot be had
// is told by null and ENOMEM (std::bad_alloc, a status), what was there stays as it is, nothing is
// lost, and once the kernel is itself again everything can be had.
//
// Usage: every_call_fails all | sampled | few | PIECE. `sampled` takes, beyond the first 12 calls,
// ever fewer; `few` does so from the first one on. TARN_OPTIONS says which malloc it is.
//
// SPDX-License-Identifier: MIT
#include "pieces.hpp"

namespace pieces {

namespace {

const char* self;

// From the first call of a library on: one may say that the program cannot start. (The dynamic
// linker of glibc 2.36 does not look whether its own first call of mmap failed.)
void started() {
  fall_silent();
  shared().watching.store(true);
  execl(self, self, "started", static_cast<char*>(nullptr));
  _exit(1);
}

int small_program() {
  for (std::size_t i = 0; i < some(2000); ++i) free(malloc(i * 10));
  return 0;
}

std::uint64_t live_blocks() {
  tarn_heap_stats stats = TARN_HEAP_STATS();
  CHECK(tarn_heap_get_stats(tarn_heap_main(), &stats) == 0);
  return stats.live_blocks;
}

// After a piece, whatever was refused in it: all can be had, nothing is lost.
void be_well() {
  CHECK(kept.count() == 0);
  for (const std::size_t bytes : mixed_bytes) {
    void* const p = malloc(bytes / 4);
    CHECK(p != nullptr);
    kept.take(p, bytes / 4);
  }
  kept.give_all();
  (void)malloc_trim(0);
}

void do_piece(const Piece& piece) {
  const std::uint64_t before = live_blocks();
  piece.work();
  be_well();
  // A thread of libc's may keep its own; what a refused call leaves is as much as a few blocks.
  CHECK(live_blocks() <= before + 8);
}

void judge(const Piece& piece, const supervised::Refusals& refusals, int status) {
  const bool by_signal = WIFSIGNALED(status);
  if (status == 0 && piece.ends != Ends::by_abort) return;
  if (by_signal && WTERMSIG(status) == SIGABRT && piece.ends == Ends::by_abort) return;
  if (!by_signal && WEXITSTATUS(status) == 77) skip("this kernel has no user notifications");
  if (!by_signal && piece.ends == Ends::refused && shared().refused.load() != 0) return;
  dprintf(STDERR_FILENO, "%s, with call %ld %s refused: %s %d\n", piece.name, refusals.first,
          refusals.and_later ? "and later ones" : "alone", by_signal ? "signal" : "status",
          by_signal ? WTERMSIG(status) : WEXITSTATUS(status));
  _exit(1);
}

struct Extent {
  long all_up_to;  // Each of so many first calls is refused,
  long part;       // and then one, the next so much of its number later.
};

// Refuses every call in turn, as far as the extent goes.
long refuse_each(const Piece& piece, const Extent& extent) {
  long runs = 0;
  for (const bool and_later : {false, true}) {
    for (long n = 1;; n += n > extent.all_up_to ? 1 + n / extent.part : 1) {
      const supervised::Refusals refusals = {n, and_later,
                                             piece.ends == Ends::refused ? "/ld-linux" : nullptr};
      judge(piece, refusals, supervised::run(refusals, 60, [&] { do_piece(piece); }));
      if (shared().refused.load() == 0) break;  // It makes no so many calls.
      ++runs;
    }
  }
  CHECK(runs != 0 || piece.makes_no_calls);
  return runs;
}

constexpr Piece new_process[] = {{"started", started, Ends::refused}};

// All pieces, or that of the name; the number of runs.
long refuse(const char* name, bool is_all, const Extent& extent) {
  long runs = 0;
  for (const std::span<const Piece> some_pieces :
       {of_malloc(), of_heaps(), of_kinds(), std::span<const Piece>(new_process)}) {
    for (const Piece& piece : some_pieces) {
      if (!is_all && strcmp(name, piece.name) != 0) continue;
      const long of_piece = refuse_each(piece, extent);
      printf("%-20s %5ld runs\n", piece.name, of_piece);
      fflush(stdout);
      runs += of_piece;
    }
  }
  return runs;
}

}  // namespace

}  // namespace pieces

int main(int argc, char** argv) {
  CHECK(argc == 2);
  const bool is_new = strcmp(argv[1], "started") == 0 && getenv("TARN_TEST_STARTED") != nullptr;
  if (is_new) return pieces::small_program();
  pieces::self = argv[0];
  (void)setenv("TARN_TEST_STARTED", "1", 1);
  begin(1200);
  const bool is_sampled = strcmp(argv[1], "sampled") == 0;
  const bool is_few = strcmp(argv[1], "few") == 0;
  const bool is_all = is_sampled || is_few || strcmp(argv[1], "all") == 0;
  const pieces::Extent extent = {is_sampled ? 12 : is_few ? 1 : LONG_MAX, is_few ? 1 : 4};
  const long runs = pieces::refuse(argv[1], is_all, extent);
  CHECK(runs > 0);
  printf("%ld runs in which a call was refused\n", runs);
  return 0;
}
