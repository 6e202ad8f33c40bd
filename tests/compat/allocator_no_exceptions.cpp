// compat/Allocator.h where there are no exceptions: `new` gives null, and makes nothing there.
//
// SPDX-License-Identifier: MIT
#include "Allocator.h"
#include "names.h"

namespace {

class Packet {
  DECLARE_ALLOCATOR
 public:
  char text[24] = {'x'};
};
class alignas(64) Wide {
  DECLARE_ALLOCATOR
 public:
  char text[64] = {'x'};
};

IMPLEMENT_ALLOCATOR(Packet, 1, nullptr)
IMPLEMENT_ALLOCATOR(Wide, 1, nullptr)

template <class T>
void test() {
  const T* const first = new T;
  CHECK(first != nullptr && first->text[0] == 'x');
  CHECK(new T == nullptr);
  CHECK(new (std::nothrow) T == nullptr);
  delete first;
  const T* const again = new T;
  CHECK(again != nullptr);
  delete again;
}

}  // namespace

int main() {
  test<Packet>();
  test<Wide>();
  return 0;
}
