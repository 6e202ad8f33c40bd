// fake: the vm contract for tests. Real memory underneath, but the n-th call fails when a test says
// so, and everything taken is counted, so that a test can prove that it was given back.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

namespace tarn::os::fake {

// The calls that can fail, from now: the n-th fails (n counts from 1) and, if `onwards`, all later
// ones. 0: none fails.
void fail_at(std::uint64_t n, bool onwards) noexcept;

// Reserving and growing fail beyond this many reserved bytes, as under RLIMIT_AS. 0: no limit.
void limit_bytes(std::size_t bytes) noexcept;

// Files cannot be longer: ENOSPC. 0: no limit.
void limit_file_bytes(std::size_t bytes) noexcept;

std::uint64_t calls() noexcept;         // Calls that could have failed, since the last fail_at().
std::size_t bytes_reserved() noexcept;  // Reserved and not released.
std::size_t bytes_purged() noexcept;    // Sum over all purges.
void* filled_huge() noexcept;           // Where vm_fill_huge() was wanted last,
std::size_t filled_huge_bytes() noexcept;  // and how much.

// Whether vm_resident() says what is so, or, as at first, that nothing is resident.
void tell_resident(bool on) noexcept;

}  // namespace tarn::os::fake
