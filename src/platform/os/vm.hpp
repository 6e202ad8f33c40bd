// vm: the contract for pages of memory. One folder per OS implements it; `fake` stands in for tests
// and fails when told to. Addresses and lengths are multiples of slice_bytes. Every function leaves
// errno alone and may be called from any thread.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#if !defined(__linux__) || !defined(__LP64__)
#error "tarn: for 64-bit Linux; a port is a folder under src/platform/os (pools alone: tarn_bare)"
#endif

namespace tarn::os {

// Reserves fresh zero memory, readable and writable, not yet backed. Null when the OS refuses, as
// it does where memory for all of it cannot exist.
void* vm_reserve(std::size_t bytes) noexcept;

// Likewise, for memory of which little is used: the OS is told not to count it, and not to use huge
// pages for it.
void* vm_reserve_sparse(std::size_t bytes) noexcept;

// The memory and swap of the machine: no request can have more. SIZE_MAX when it is not known.
std::size_t vm_bytes_there_can_be() noexcept;

// Gives address space back. False when the OS refuses (it may, at its limit of mappings): then the
// range is still the caller's.
bool vm_release(void* start, std::size_t bytes) noexcept;

inline constexpr std::size_t huge_page_bytes = std::size_t{2} << 20;

// Asks for huge pages in a range that was just reserved. False when the OS has none.
bool vm_prefer_huge(void* start, std::size_t bytes) noexcept;

// Asks for small pages, also in static memory.
void vm_avoid_huge(void* start, std::size_t bytes) noexcept;

// Whether the OS gives huge pages unasked, as one of all that could be backed by one shows. Its
// first page is backed afterwards. pre: none of it is, nor may be used
bool vm_is_huge_unasked(void* start) noexcept;

// Has a range where small pages were asked for backed by huge pages now, if the OS gives them, and
// by small ones what is dropped of it later. False when the OS has none. pre: the first page of
// each huge one is the caller's, none is backed, and it starts and ends as huge pages do
bool vm_fill_huge(void* start, std::size_t bytes) noexcept;

// Has a range backed by memory now. False when the OS cannot.
bool vm_populate(void* start, std::size_t bytes) noexcept;

// Has a range backed by the memory of one node of a machine whose memory is not all alike. False
// when there is no such node. pre: none of the range is backed
bool vm_bind(void* start, std::size_t bytes, unsigned node) noexcept;

// Drops the contents of a range, which stays usable and reads as zero. False when the OS refuses:
// the contents are as before.
bool vm_purge(void* start, std::size_t bytes) noexcept;

// Makes reads and writes of the range fault, or no longer fault. False when the OS refuses (it may,
// at its limit of mappings): parts may have changed, where the range is not of one mapping.
bool vm_close(void* start, std::size_t bytes) noexcept;
bool vm_open(void* start, std::size_t bytes) noexcept;

// Likewise, with its contents dropped, by what costs the least: the kernel's guard markers (Linux
// 6.13, madvise(2)), which take no mapping, and rights of mappings elsewhere. False when the OS
// refuses: the range may be used, but its contents may be gone; what was guarded may be so in part.
bool vm_guard(void* start, std::size_t bytes) noexcept;
bool vm_unguard(void* start, std::size_t bytes) noexcept;

// Whether guards are known to take no mappings.
bool vm_guards_are_markers() noexcept;

// Makes a range longer, in place or elsewhere, without copying; what is added reads as zero.
// Returns the new start; the old range, where it is not part of the new one, is no longer the
// caller's. Null when the OS cannot (on Linux also when the range is not part of one mapping);
// nothing has changed then. pre: wanted > bytes
void* vm_grow(void* start, std::size_t bytes, std::size_t wanted) noexcept;

// How many bytes of a range are in memory now; 0 where the OS does not say, as for a range with
// holes.
std::size_t vm_resident(const void* start, std::size_t bytes) noexcept;

// Shows `name` for the range in /proc/PID/maps where the kernel can: printable ASCII without
// backslash, backquote, $ and brackets. `name` must outlive the range.
void vm_name(void* start, std::size_t bytes, const char* name) noexcept;

// Makes a range read-only, or writable again. False when the OS refuses: parts may have changed.
bool vm_protect(void* start, std::size_t bytes, bool writable) noexcept;

// Has a range backed, and keeps it in memory until it is released. False when the OS refuses.
bool vm_lock(void* start, std::size_t bytes) noexcept;

// Keeps a range out of core dumps, and has it read as zero in the child of a fork. False when the
// OS cannot.
bool vm_hide(void* start, std::size_t bytes) noexcept;

}  // namespace tarn::os
