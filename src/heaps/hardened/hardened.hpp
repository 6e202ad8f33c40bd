// hardened: blocks that prove themselves. Each block of a hardened heap ends in a seal
// (engine/pages/seal.hpp), which is looked at when the block is freed, resized or asked for, and
// when it is taken again. docs/design/hardened.md has the picture.
//
// What is found to be wrong is reported, and does not return.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include "engine/pages/seal.hpp"
#include "engine/records/thread.hpp"
#include "heaps/heap/request.hpp"

namespace tarn {

// Makes a heap that nobody has used yet a hardened one. Once in a process.
void make_hardened(HeapRecord& record) noexcept;

// What a block must have for a request of so many bytes. pre: bytes <= request_bytes_max
constexpr std::size_t hardened_bytes(std::size_t bytes) noexcept { return bytes + seal_bytes; }

// True when it is the start of a block of the page. (All of a hardened heap's are of common
// classes.)
inline bool hardened_is_block(const Page& page, const void* p) noexcept {
  return page.is_block_of(p, page.size_class);
}

// As page_pop(), of a page of a hardened heap: reports what is no block of it.
Block* hardened_pop(Page& page) noexcept;

// Where a block was just taken from: there its first word is a link, or as its free left it.
enum class From : bool { page, shelf };

// The block of the page is proven to be free and as its free left it, and
// sealed as a live one. Its first seal_watched_bytes are zero.
void hardened_begin(const Page& page, void* block, From from, std::size_t bytes, Origin origin,
                    const void* site) noexcept;

// The bytes that were asked for. Here and in hardened_resize() `page` may be a large block.
std::size_t hardened_usable(const Page& page, const void* p, const FreeCall& given) noexcept;

// The block, with so many bytes from here on: where it is, or, a large one that may move, by page
// tables. Null, with nothing changed, when that cannot be. What comes to it is zero, as far as it
// has been the block's before. pre: hardened_usable() was asked
void* hardened_resize(Page& page, void* p, std::size_t bytes, bool may_move) noexcept;

// Reports p when it lies in a live block and is not its start, and returns else.
void report_in_hardened(const Page& page, const void* p, const FreeCall& given) noexcept;

// The call ends the block of a page: it is sealed as free.
void hardened_end(Page& page, void* p, Said said, const void* site) noexcept;
void hardened_end_large(Page& page, const FreeCall& given) noexcept;

// A large block gets its seal. pre: it has hardened_bytes()
void hardened_begin_large(Page& page, std::size_t bytes, Origin origin) noexcept;

// Looks at a block that leaves the threads' hands for its page: nothing has been written to it
// since its free, as far as its first word tells, and the tail and the seal of one that stays with
// its thread for a few frees only: its page may be gone before the block is taken again.
void hardened_leave(const Page& page, const Block* block, const void* site) noexcept;

// Looks at the blocks of all pages, up to so many bytes of these, and at large ones. Does nothing
// where another thread may be at work with them, or has been when the process forked. pre: held
// exclusively
inline constexpr std::size_t hardened_verify_bytes_most = std::size_t{64} << 20;
void hardened_verify(HeapRecord& record, const char* function) noexcept;

// The bytes that were asked for, as its seal says, for a walk. pre: a live block, of a page or
// large
std::size_t hardened_seen_bytes(const Page& page, const void* p) noexcept;

// Any thread, for what walks and searches see: also of a page that is purged meanwhile, whose
// blocks have no seals. pre: p is a block of the page
TARN_UNSANITIZED inline bool hardened_is_free(const Page& page, const void* p) noexcept {
  const std::byte* const place = seal_place(page, p);
  return seal_is_gone(place) || seal_read(place, p).is_free();
}

}  // namespace tarn
