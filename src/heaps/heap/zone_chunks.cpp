// zone_chunks: see zone_chunks.hpp. docs/design/zones.md says why sources are called from here
// alone.
//
// SPDX-License-Identifier: MIT
#include "heaps/heap/zone_chunks.hpp"

#include <cerrno>
#include <cstring>

#include "engine/records/callback.hpp"
#include "engine/records/thread_default.hpp"
#include "heaps/heap/exclusive.hpp"
#include "platform/base/check.hpp"
#include "platform/base/fill.hpp"
#include "platform/os/vm.hpp"
#include "platform/report/options.hpp"

namespace tarn {

namespace {

constexpr std::size_t mebi = std::size_t{1} << 20;

// A chunk is a quarter of what the zone has already, between these.
constexpr std::size_t chunk_bytes_min = mebi;
constexpr std::size_t chunk_bytes_max = 64 * mebi;
constexpr std::size_t secret_bytes_min = mebi / 16;  // Locked whole, and that is limited.
constexpr std::size_t secret_bytes_max = mebi;

// What the kernel shows: "tarn: " and the name, without the characters that it refuses.
class ShownName {
 public:
  explicit ShownName(const char* name) noexcept {
    std::size_t at = strlen(text_);
    for (; *name != '\0' && at + 1 < sizeof text_; ++name) {
      const bool shown = *name >= ' ' && *name <= '~' && strchr("\\`$[]", *name) == nullptr;
      text_[at++] = shown ? *name : '_';
    }
  }
  const char* text() const noexcept { return text_; }

 private:
  char text_[8 + TARN_HEAP_NAME_BYTES] = "tarn: ";
};

Piece take_piece(const ZoneTraits& traits, std::size_t bytes, const char* name) noexcept {
  TARN_ASSERT(!traits.region && bytes != 0 && bytes % slice_bytes == 0 && is_at_rest());
  if (traits.source.acquire != nullptr) {
    const WithoutDefaultHeap malloc_itself;
    const tarn_chunk chunk = traits.source.acquire(traits.source.context, bytes, slice_bytes);
    return {chunk.data, chunk.data == nullptr ? 0 : chunk.bytes};
  }
  void* const start = os::vm_reserve(bytes);
  if (start == nullptr) return {};
  store.count_map_call();
  store.count_elsewhere(static_cast<std::ptrdiff_t>(bytes));
  os::vm_name(start, bytes, ShownName(name).text());
  return {start, bytes};
}

void give_piece(const ZoneTraits& traits, const Piece& piece) noexcept {
  TARN_ASSERT(piece.start != nullptr && is_at_rest());
  if (traits.region) return;
  if (traits.source.acquire != nullptr) {
    if (traits.source.release != nullptr) {
      const WithoutDefaultHeap malloc_itself;
      traits.source.release(traits.source.context, {piece.start, piece.bytes});
    }
    return;
  }
  store.count_map_call();
  store.count_elsewhere(-static_cast<std::ptrdiff_t>(piece.bytes));
  if (os::vm_release(piece.start, piece.bytes)) return;
  // At its limit of mappings the OS keeps the addresses; the contents may go.
  if (traits.secret) {
    wipe(piece.start, piece.bytes);
  } else {
    os::vm_purge(piece.start, piece.bytes);
  }
}

ZoneTraits traits_for(const tarn_heap_options& options) noexcept {
  ZoneTraits traits;
  TARN_ASSERT(zone_options_are_sound(options));
  traits.chunk_bytes_min = chunk_bytes_min;
  traits.chunk_bytes_max = chunk_bytes_max;
  if (options.region != nullptr) {
    traits.region = true;
  } else if (options.source != nullptr) {
    const tarn_source& source = *options.source;
    traits.zeroed = source.zeroed != 0;
    traits.source = source;
    if (source.chunk_bytes != 0) traits.chunk_bytes_min = align_up(source.chunk_bytes, slice_bytes);
    if (traits.chunk_bytes_max < traits.chunk_bytes_min) {
      traits.chunk_bytes_max = traits.chunk_bytes_min;
    }
  } else if ((options.flags & TARN_HEAP_SECRET) != 0) {
    traits.zeroed = traits.secret = true;
    traits.chunk_bytes_min = secret_bytes_min;
    traits.chunk_bytes_max = secret_bytes_max;
  } else {
    traits.zeroed = traits.purgeable = true;
  }
  return traits;
}

// Slices that surely hold the request, whatever page it will be in.
std::size_t slices_wanted(const Request& request) noexcept {
  std::size_t bytes = request.bytes;
  if (bytes > request_bytes_max) return SIZE_MAX;
  if (request.fixed != nullptr && request.fixed->block_bytes > bytes) {
    bytes = request.fixed->block_bytes;
  }
  return slices_for(bytes + bytes / 8) + MixedPage::slices;
}

}  // namespace

bool zone_options_are_sound(const tarn_heap_options& options) noexcept {
  constexpr unsigned known = TARN_HEAP_SEPARATE | TARN_HEAP_SECRET;
  const bool secret = (options.flags & TARN_HEAP_SECRET) != 0;
  if ((options.flags & ~known) != 0) return false;
  if (options.region != nullptr) {
    return options.source == nullptr && !secret &&
           options.region_bytes >= TARN_HEAP_REGION_BYTES_MIN &&
           options.region_bytes <= UINTPTR_MAX - address_of(options.region);
  }
  if (options.region_bytes != 0) return false;
  if (options.source == nullptr) return true;
  return !secret && is_sized(*options.source, "tarn_heap_create", "TARN_SOURCE") &&
         options.source->acquire != nullptr && options.source->chunk_bytes <= request_bytes_max;
}

bool make_zone(const tarn_heap_options& options, SpanSource* source) noexcept {
  *source = {};
  if (options.region == nullptr && options.source == nullptr && options.flags == 0) return true;
  const ZoneTraits traits = traits_for(options);
  Piece piece{options.region, options.region_bytes};
  if (!traits.region) {
    piece = take_piece(
        traits,
        traits.chunk_bytes_min < secret_bytes_min ? secret_bytes_min : traits.chunk_bytes_min,
        options.name == nullptr ? "" : options.name);
    if (piece.start == nullptr) {
      errno = ENOMEM;
      return false;
    }
  }
  *source = SpanSource(Zone::begin(piece, traits));
  if (!source->is_store()) return true;
  give_piece(traits, piece);
  errno = traits.region ? EINVAL : traits.secret ? EPERM : ENOMEM;
  return false;
}

void end_zone(SpanSource source) noexcept {
  TARN_ASSERT(!source.is_store());
  Zone& zone = *source.zone();
  const ZoneTraits traits = zone.traits();
  zone.forget_lost();
  if (traits.region) return regions.remove(zone);
  Piece piece;
  while (zone.take_out(&piece, true)) give_piece(traits, piece);
  give_piece(traits, zone.first_piece());
}

bool grow_zone(HeapRecord& record, std::uint64_t id, const Request& request) noexcept {
  if (Callback::runs(record, CallbackFor::chunk)) return false;
  ZoneTraits traits;
  std::size_t wanted = 0;
  char name[TARN_HEAP_NAME_BYTES];
  {
    const Visit visit(record, id);
    if (visit.thread() == nullptr || visit.ended() || record.source.is_store()) return false;
    traits = record.source.traits();
    if (traits.region) return false;
    wanted = record.source.zone()->chunk_bytes() / 4;
    memcpy(name, record.name, sizeof name);
  }
  if (wanted < traits.chunk_bytes_min) wanted = traits.chunk_bytes_min;
  if (wanted > traits.chunk_bytes_max) wanted = traits.chunk_bytes_max;
  wanted = align_up(wanted, slice_bytes);
  const std::size_t alignment =
      request.alignment <= slice_bytes ? 1 : request.alignment >> slice_shift;
  const std::size_t least = Zone::chunk_bytes_for(slices_wanted(request), alignment);
  if (least == 0) return false;
  TARN_ASSERT(least % slice_bytes == 0);
  Piece piece;
  {
    const Callback running(record, CallbackFor::chunk);
    piece = take_piece(traits, wanted < least ? least : wanted, name);
    if (piece.start == nullptr && wanted > least) piece = take_piece(traits, least, name);
  }
  if (piece.start == nullptr) return false;
  bool added = false;
  {
    const Visit visit(record, id);
    added = visit.thread() != nullptr && !visit.ended() && record.source.zone()->add(piece);
  }
  if (!added) give_piece(traits, piece);
  return added;
}

bool trim_zone(HeapRecord& record, std::uint64_t id, bool all) noexcept {
  for (;;) {
    ZoneTraits traits;
    Piece piece;
    {
      const Visit visit(record, id);
      if (visit.thread() == nullptr || visit.ended()) return visit.thread() == nullptr;
      Zone* const zone = record.source.zone();
      if (zone == nullptr) return true;
      traits = zone->traits();
      if (!zone->take_out(&piece, all)) {
        zone->purge(all);
        return true;
      }
    }
    give_piece(traits, piece);  // Calls the source, perhaps: the heap may end meanwhile.
  }
}

void give_surplus(HeapRecord& record) noexcept {
  Zone& zone = *record.source.zone();
  const ZoneTraits traits = zone.traits();
  Piece piece;
  while (zone.take_out(&piece, false)) give_piece(traits, piece);
  zone.purge(false);
}

}  // namespace tarn
