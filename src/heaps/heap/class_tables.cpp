// class_tables: the functions of tarn/heap/heap.h for class tables. They make and judge tables;
// none of them needs a heap.
//
// SPDX-License-Identifier: MIT
#include <cerrno>

#include "engine/layout/size_class.hpp"
#include "engine/layout/table_plan.hpp"
#include "tarn/heap/heap.h"

static_assert(TARN_HEAP_CLASSES_MAX == tarn::fixed_classes_max);
static_assert(TARN_HEAP_CLASS_BYTES_MAX == tarn::block_bytes_max);
static_assert(TARN_HEAP_CLASS_GRAIN == tarn::block_align);

namespace {

bool ascends(const std::size_t* class_bytes, std::size_t count) noexcept {
  std::size_t below = 0;
  for (std::size_t i = 0; i < count; below = class_bytes[i], ++i) {
    if (class_bytes[i] <= below) return false;
  }
  return true;
}

}  // namespace

extern "C" {

std::size_t tarn_class_table(unsigned steps_per_doubling, std::size_t least, std::size_t most,
                             std::size_t grain, std::size_t* class_bytes, std::size_t room) {
  const tarn::TablePlan plan{steps_per_doubling, least, most, grain};
  if (!tarn::is_sound(plan) || (class_bytes == nullptr && room != 0)) {
    errno = EINVAL;
    return 0;
  }
  std::size_t count = 0;
  tarn::for_each_size(plan, [&](std::size_t bytes) {
    if (count < room) class_bytes[count] = bytes;
    ++count;
  });
  return count;
}

std::size_t tarn_class_table_add(std::size_t* class_bytes, std::size_t count, std::size_t room,
                                 std::size_t bytes) {
  if (class_bytes == nullptr || bytes == 0 || bytes > TARN_HEAP_CLASS_BYTES_MAX ||
      !ascends(class_bytes, count)) {
    errno = EINVAL;
    return 0;
  }
  const std::size_t added = tarn::align_up(bytes, TARN_HEAP_CLASS_GRAIN);
  std::size_t at = count;
  while (at != 0 && class_bytes[at - 1] > added) --at;
  if (at != 0 && class_bytes[at - 1] == added) return count;
  if (count >= room) {
    errno = ENOSPC;
    return 0;
  }
  for (std::size_t i = count; i != at; --i) class_bytes[i] = class_bytes[i - 1];
  class_bytes[at] = added;
  return count + 1;
}

double tarn_class_fill(const std::size_t* class_bytes, std::size_t count, std::size_t least,
                       std::size_t most) {
  if (class_bytes == nullptr || count == 0 || least == 0 || least > most ||
      !ascends(class_bytes, count) || most > class_bytes[count - 1]) {
    errno = EINVAL;
    return 0;
  }
  return tarn::fill_of_table(class_bytes, count, least, most);
}

}  // extern "C"
