// unwind: see unwind.hpp.
//
// SPDX-License-Identifier: MIT
#include "platform/stack/unwind.hpp"

#include <cstring>

#include "platform/base/config.hpp"
#include "platform/os/code.hpp"
#include "platform/stack/frame_rule.hpp"

#if defined(__x86_64__) && defined(__linux__)
#include <ucontext.h>
#endif

namespace tarn {

namespace {

constexpr std::uintptr_t page_bytes = 4096;
constexpr std::size_t inner_most = 24;

// What of the thread's stack is known to be readable. Another stack (of a coroutine, of signals)
// begins anew.
struct Readable {
  std::uintptr_t from = 0;
  std::uintptr_t to = 0;
};
TARN_INITIAL_EXEC thread_local constinit Readable readable;

// Asks the OS page by page whether the stack can be read from sp to `to`, which is above.
TARN_COLD bool becomes_readable(std::uintptr_t sp, std::uintptr_t to) noexcept {
  const Readable known = readable;
  constexpr std::uintptr_t most = std::uintptr_t{64} << 20;  // No frame is larger.
  if (to < sp || to - sp > most) return false;
  const std::uintptr_t from = sp & ~(page_bytes - 1);
  Readable now = from >= known.from && from <= known.to ? known : Readable{from, from};
  while (now.to < to) {
    if (now.to == known.from && known.to > known.from) {
      now.to = known.to;
    } else if (os::is_readable(reinterpret_cast<const void*>(now.to < sp ? sp : now.to))) {
      now.to += page_bytes;
    } else {
      return false;
    }
  }
  readable = now;
  return true;
}

TARN_INLINE bool reaches(std::uintptr_t sp, std::uintptr_t to) noexcept {
  return TARN_LIKELY(sp >= readable.from && to <= readable.to) || becomes_readable(sp, to);
}

TARN_UNSANITIZED std::uintptr_t word_at(std::uintptr_t place) noexcept {
  return *reinterpret_cast<const volatile std::uintptr_t*>(place);
}

std::uintptr_t page_of(std::uintptr_t place) noexcept { return place / page_bytes; }

// How a frame was found: by what can be there only if it is a frame, or by what the OS was asked
// of.
enum class Found : std::uint8_t { known, asked, none };

// A frame that begins with the caller's frame pointer and the return address, at the frame pointer.
// That may hold anything: beyond the stack pointer's page, the OS is asked, each time.
Found step_by_pointer(FrameRegisters& at) noexcept {
  const std::uintptr_t frame = at.fp;
  const std::uintptr_t last = frame + 2 * sizeof frame - 1;
  if (frame < at.sp || frame % sizeof frame != 0 || last < frame) return Found::none;
  const bool is_known = page_of(last) == page_of(at.sp);
  const auto can_be_read = [](std::uintptr_t place) noexcept {
    return os::is_readable(reinterpret_cast<const void*>(place));
  };
  if (!is_known && !(can_be_read(frame) && can_be_read(last))) return Found::none;
  at.fp = word_at(frame);
  at.pc = word_at(frame + sizeof frame);
  at.sp = frame + 2 * sizeof frame;
  return is_known ? Found::known : Found::asked;
}

#if defined(__x86_64__) && defined(__linux__)

TARN_INLINE Found step_by_offset(FrameRegisters& at, std::uintptr_t base, FrameRule rule) noexcept {
  const std::uintptr_t cfa = base + rule.offset();
  if (TARN_UNLIKELY(cfa <= at.sp || cfa % 8 != 0) || !reaches(at.sp, cfa)) return Found::none;
  if (rule.saved_words() != 0) {
    const std::uintptr_t saved = cfa - 8 * rule.saved_words();
    if (saved < at.sp || saved >= cfa) return Found::none;
    at.fp = word_at(saved);
  }
  at.pc = word_at(cfa - 8);
  at.sp = cfa;
  return Found::known;
}

// The kernel keeps the registers of what it interrupted at the stack pointer.
TARN_UNSANITIZED Found step_out_of_handler(FrameRegisters& at) noexcept {
  if (!reaches(at.sp, at.sp + sizeof(ucontext_t))) return Found::none;
  const auto& machine = reinterpret_cast<const ucontext_t*>(at.sp)->uc_mcontext;
  at = {static_cast<std::uintptr_t>(machine.gregs[REG_RIP]),
        static_cast<std::uintptr_t>(machine.gregs[REG_RSP]),
        static_cast<std::uintptr_t>(machine.gregs[REG_RBP])};
  return Found::asked;
}

// To the caller. *is_return: see unwind(); false afterwards when a signal came in between.
TARN_INLINE Found step(FrameRegisters& at, bool* is_return) noexcept {
  const FrameRule rule = frame_rule(at.pc - (*is_return ? 1 : 0));
  *is_return = true;
  switch (rule.kind()) {
    case FrameRule::Kind::of_sp: return step_by_offset(at, at.sp, rule);
    case FrameRule::Kind::of_fp: return step_by_offset(at, at.fp, rule);
    case FrameRule::Kind::signal: *is_return = false; return step_out_of_handler(at);
    case FrameRule::Kind::outermost: return Found::none;
    case FrameRule::Kind::unknown: break;
  }
  return step_by_pointer(at);
}

#else

Found step(FrameRegisters& at, bool* is_return) noexcept {
  *is_return = true;
  return step_by_pointer(at);
}

#endif

// What is no code: the end of the stack, or what only looks like a frame.
bool is_code(std::uintptr_t pc) noexcept { return pc > page_bytes; }

// Calls take(call, stack pointer behind it, how it was found) for each until that returns false.
template <class Take>
TARN_INLINE void walk(FrameRegisters at, bool is_return, Take take) noexcept {
  Found found = Found::known;
  do {
    const std::uintptr_t call = is_return ? at.pc : at.pc + 1;
    if (!is_code(at.pc) || !take(reinterpret_cast<const void*>(call), at.sp, found)) return;
    found = step(at, &is_return);
  } while (found != Found::none);
}

// Of the caller of the function in which it stands, which must not be inlined.
#define TARN_CALLERS_REGISTERS()                                                          \
  FrameRegisters {                                                                        \
    reinterpret_cast<std::uintptr_t>(__builtin_return_address(0)),                        \
        reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)) + 2 * sizeof(void*), \
        word_at(reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)))             \
  }

}  // namespace

std::size_t unwind(FrameRegisters at, bool is_return, const void** calls,
                   std::size_t most) noexcept {
  std::size_t count = 0;
  if (most == 0) return 0;
  walk(at, is_return, [&](const void* call, std::uintptr_t, Found) noexcept {
    calls[count++] = call;
    return count != most;
  });
  return count;
}

TARN_NOINLINE std::size_t unwind_from(const void* from, const void** calls, std::uintptr_t* places,
                                      std::size_t most) noexcept {
  std::size_t count = 0;
  std::size_t inner = 0;
  if (most == 0) return 0;
  walk(TARN_CALLERS_REGISTERS(), true,
       [&](const void* call, std::uintptr_t sp, Found found) noexcept {
         if (count == 0 && from != nullptr && call != from) return ++inner != inner_most;
         // Right below the caller's frame.
         if (places != nullptr) places[count] = found == Found::known ? sp - sizeof call : 0;
         calls[count++] = call;
         return count != most;
       });
  return count;
}

bool stack_reaches(std::uintptr_t from, std::uintptr_t to) noexcept {
  return page_of(from) == page_of(to - 1) || reaches(from, to);
}

std::uintptr_t stack_word(std::uintptr_t place) noexcept { return word_at(place); }

}  // namespace tarn
