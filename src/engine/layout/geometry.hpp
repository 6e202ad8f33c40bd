// geometry: the address space as the library divides it. Every number of the layout is here, in
// platform/base/slice.hpp, size_class.hpp or page_plan.hpp; nothing else in the project spells one.
//
//   address    46            32 31                 12 11           0
//             +----------------+---------------------+--------------+
//             |  root index    |     leaf index      |   in slice   |
//             +----------------+---------------------+--------------+
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include "platform/base/slice.hpp"

namespace tarn {

// User addresses on x86-64 and AArch64 Linux lie below 2^47 and 2^48 unless a hint asks for more,
// and the library never gives one.
#if defined(__aarch64__)
inline constexpr unsigned address_bits = 48;
#else
inline constexpr unsigned address_bits = 47;
#endif
// A leaf of the page map covers 4 GiB: the low 32 bits of an address are its own, without a mask.
inline constexpr unsigned leaf_shift = 32;
inline constexpr std::size_t root_entries = std::size_t{1} << (address_bits - leaf_shift);
inline constexpr std::size_t leaf_entries = std::size_t{1} << (leaf_shift - slice_shift);

inline constexpr std::size_t cache_line_bytes = 64;
inline constexpr std::size_t request_bytes_max = PTRDIFF_MAX;  // Larger: ENOMEM, as in glibc.

constexpr std::size_t slices_for(std::size_t bytes) noexcept {
  return (bytes >> slice_shift) + ((bytes & (slice_bytes - 1)) != 0);
}

static_assert(slices_for(0) == 0 && slices_for(1) == 1 && slices_for(slice_bytes) == 1 &&
              slices_for(slice_bytes + 1) == 2 && slices_for(request_bytes_max) != 0);

}  // namespace tarn
