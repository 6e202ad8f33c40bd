// module: what module_churn opens and closes.
//
// SPDX-License-Identifier: MIT
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#define MODULE_EXPORT extern "C" __attribute__((visibility("default")))

namespace {

struct Table {
  Table() {
    for (int i = 0; i < 200; ++i) names.push_back(std::string(static_cast<std::size_t>(i), 'n'));
  }
  ~Table() {
    std::unique_ptr<char[]> last(new char[5000]);
    std::memset(last.get(), 0, 5000);
    names.clear();
  }
  std::vector<std::string> names;
};

Table table;
thread_local std::vector<std::string> thread_names;
thread_local char thread_bytes[100000];

}  // namespace

MODULE_EXPORT void* module_make(std::size_t size) { return std::malloc(size); }
MODULE_EXPORT void module_take(void* block) { std::free(block); }

MODULE_EXPORT void module_use_thread_data() {
  for (char& byte : thread_bytes) byte = 1;
  for (int i = 0; i < 50; ++i) thread_names.push_back(table.names[static_cast<std::size_t>(i)]);
}
