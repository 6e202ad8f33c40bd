// Blocks that are freed by another function than belongs to the one that they came from, or with
// another size or alignment.
//
// SPDX-License-Identifier: MIT
#include <new>

#include "misuse.hpp"

namespace misuse {

namespace {

constexpr std::align_val_t wide{64};

void* take_new(std::size_t bytes) { return opaque(::operator new(bytes)); }

void new_by_free(std::size_t bytes) { give(take_new(bytes)); }
void array_by_free(std::size_t bytes) { give(opaque(::operator new[](bytes))); }
void aligned_new_by_free(std::size_t bytes) { give(opaque(::operator new(bytes, wide))); }
void malloc_by_delete(std::size_t bytes) { ::operator delete(static_cast<void*>(take(bytes))); }
void malloc_by_array_delete(std::size_t bytes) {
  ::operator delete[](static_cast<void*>(take(bytes)));
}
void calloc_by_delete(std::size_t bytes) { ::operator delete(opaque(std::calloc(1, bytes))); }
void new_by_array_delete(std::size_t bytes) { ::operator delete[](take_new(bytes)); }
void array_by_delete(std::size_t bytes) { ::operator delete(opaque(::operator new[](bytes))); }
void new_by_realloc(std::size_t bytes) {
  watch(opaque(std::realloc(take_new(bytes), 2 * bytes)), 2 * bytes);
}
void new_by_aligned_delete(std::size_t bytes) { ::operator delete(take_new(bytes), wide); }
void aligned_new_by_delete(std::size_t bytes) {
  ::operator delete(opaque(::operator new(bytes, wide)));
}

void with_a_smaller_size(std::size_t bytes) { ::operator delete(take_new(bytes), bytes / 2); }
void with_a_larger_size(std::size_t bytes) { ::operator delete(take_new(bytes), 2 * bytes); }
void with_no_size(std::size_t bytes) { ::operator delete (take_new(bytes), std::size_t{0}); }
void array_with_another_size(std::size_t bytes) {
  ::operator delete[](opaque(::operator new[](bytes)), 3 * bytes);
}
void with_another_alignment(std::size_t bytes) {
  ::operator delete (opaque(::operator new(bytes, wide)), std::align_val_t{1024});
}

// An object by a pointer to a smaller one, without a virtual destructor.
struct Small {
  long number = 0;
};
struct Large : Small {
  char rest[200] = {};
};
void object_of_another_type(std::size_t) {
  Small* const object = opaque(new Large);
  delete object;
}

struct Counted {
  ~Counted() { number = 0; }
  long number = 1;
};
void objects_by_delete(std::size_t) { delete opaque(new Counted[5]); }
void object_by_array_delete(std::size_t) { delete[] opaque(new Counted); }

constexpr Row rows[] = {
    {"new_by_free", new_by_free, sizes_some},
    {"array_by_free", array_by_free, size_small},
    {"aligned_new_by_free", aligned_new_by_free, size_small},
    {"malloc_by_delete", malloc_by_delete, sizes_some},
    {"malloc_by_array_delete", malloc_by_array_delete, size_small},
    {"calloc_by_delete", calloc_by_delete, size_small},
    {"new_by_array_delete", new_by_array_delete, size_small},
    {"array_by_delete", array_by_delete, size_small},
    {"new_by_realloc", new_by_realloc, size_small},
    {"new_by_aligned_delete", new_by_aligned_delete, size_small},
    {"aligned_new_by_delete", aligned_new_by_delete, size_small},
    {"with_a_smaller_size", with_a_smaller_size, sizes_four},
    {"with_a_larger_size", with_a_larger_size, sizes_four},
    {"with_no_size", with_no_size, size_small},
    {"array_with_another_size", array_with_another_size, size_small},
    {"with_another_alignment", with_another_alignment, size_small},
    {"object_of_another_type", object_of_another_type, size_small},
    {"objects_by_delete", objects_by_delete, size_small},
    {"object_by_array_delete", object_by_array_delete, size_small},
};

}  // namespace

const Family mismatches{"mismatch", rows};

}  // namespace misuse
