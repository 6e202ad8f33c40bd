// sizes_subject: asks once for each of known sizes, in every way that there is; twice over by a
// child. Its other requests (the C and C++ libraries' own) have none of these sizes.
// SPDX-License-Identifier: MIT
#include <malloc.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <new>

namespace {

struct alignas(64) Wide {
  char bytes[64 * 331];
};
struct Plain {
  char bytes[20011];
};

volatile std::size_t hidden;  // What the compiler must not know.
std::size_t size(std::size_t bytes) {
  hidden = bytes;
  return hidden;
}

template <class T>
T* used(T* p) {  // Else a new that nobody uses may be left out.
  asm volatile("" : "+r"(p) : : "memory");
  return p;
}

void ask() {
  std::free(std::malloc(size(20001)));
  std::free(std::calloc(size(3), 6667));  // 20001 again.
  void* p = std::realloc(nullptr, size(20003));
  p = std::realloc(p, size(20005));
  std::free(reallocarray(p, size(5), 4001));  // 20005 again.
  if (posix_memalign(&p, 64, size(20007)) == 0) std::free(p);
  std::free(std::aligned_alloc(32, size(20009)));
  std::free(memalign(32, size(20009)));
  std::free(valloc(size(20013)));
  delete used(new Plain);
  delete[] used(new char[size(20015)]);
  delete used(new (std::nothrow) Plain);
  ::operator delete[](::operator new[](size(20017), std::nothrow), std::nothrow);
  delete used(new Wide);
  std::free(std::malloc(size(1000003)));
  hidden = reinterpret_cast<std::size_t>(std::malloc(size(SIZE_MAX / 2 + 5)));  // Refused.
}

}  // namespace

int main() {
  ask();
  const pid_t child = fork();
  if (child == 0) {
    ask();
    _exit(0);  // What was counted must be there all the same.
  }
  int status = 0;
  return waitpid(child, &status, 0) == child && status == 0 ? 7 : 1;
}
