/* thread_data_module: 4 MiB of thread-local data, too much for what is set aside at start-up.
 *
 * SPDX-License-Identifier: MIT */
#include <stddef.h>

enum { DATA_BYTES = 4 << 20 };

static _Thread_local unsigned char data[DATA_BYTES] = "the module's";

__attribute__((visibility("default"))) unsigned char* module_data(size_t* size);
unsigned char* module_data(size_t* size) {
  *size = sizeof data;
  return data;
}
