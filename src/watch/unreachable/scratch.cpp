// scratch: see scratch.hpp.
//
// SPDX-License-Identifier: MIT
#include "watch/unreachable/scratch.hpp"

#include <new>

#include "engine/layout/geometry.hpp"
#include "platform/base/bits.hpp"
#include "platform/os/vm.hpp"

namespace tarn {

namespace {
constexpr std::size_t chunk_bytes = std::size_t{1} << 20;
}  // namespace

constinit os::Lock Scratch::lock_;
constinit List<Scratch::Chunk> Scratch::all_;

void* Scratch::take(std::size_t bytes) noexcept {
  const std::size_t size = align_up(bytes == 0 ? 1 : bytes, alignof(Chunk));
  if (size < bytes || size > SIZE_MAX / 2) return nullptr;
  if (chunks_ == nullptr || chunks_->bytes - used_ < size) {
    const std::size_t least = size + sizeof(Chunk);
    const std::size_t wanted = least < chunk_bytes ? chunk_bytes : align_up(least, slice_bytes);
    void* const start = os::vm_reserve_sparse(wanted);
    if (start == nullptr) return nullptr;
    chunks_ = new (start) Chunk{chunks_, nullptr, nullptr, wanted};
    const os::LockedUnlessHeld locked(lock_);
    all_.push_front(chunks_);
    used_ = sizeof(Chunk);
  }
  TARN_ASSERT(used_ >= sizeof(Chunk) && used_ % alignof(Chunk) == 0);
  TARN_ASSERT(size <= chunks_->bytes - used_);
  std::byte* const taken = reinterpret_cast<std::byte*>(chunks_) + used_;
  used_ += size;
  TARN_ASSERT(is_aligned(taken, alignof(Chunk)));
  return taken;
}

// At its limit of mappings the OS may refuse. Then the memory is purged, if it can be, and the
// addresses stay scratch for good.
void Scratch::release() noexcept {
  while (chunks_ != nullptr) {
    Chunk* const chunk = chunks_;
    const std::size_t bytes = chunk->bytes;
    chunks_ = chunk->before;
    {
      const os::LockedUnlessHeld locked(lock_);
      all_.remove(chunk);
    }
    if (os::vm_release(chunk, bytes)) continue;
    os::vm_purge(chunk, bytes);
    const os::LockedUnlessHeld locked(lock_);
    all_.push_front(new (chunk) Chunk{nullptr, nullptr, nullptr, bytes});
  }
  used_ = 0;
}

}  // namespace tarn
