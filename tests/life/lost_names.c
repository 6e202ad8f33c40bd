/* lost_names: what a search for unreachable blocks prints is JSON, and lines, whatever a heap and
 * the program's file are called. The program runs once more under a name that needs quoting.
 *
 * SPDX-License-Identifier: MIT */

#include "check.h"
#include "tarn/diagnose/unreachable.h"
#include "tarn/tarn.h"

enum { blocks = 20 };

#define HEAP_NAME "a\"b\\\n\xff\xc3\xa9\xc3" /* The last letter is cut. */
#define FILE_NAME "lost\"names\\"

static __attribute__((noinline)) void lose(tarn_heap heap) {
  for (int i = 0; i < blocks; ++i) memset(tarn_heap_allocate(heap, 333), 1, 333);
}

static __attribute__((noinline)) void clear_frames(void) {
  volatile char frames[8192];
  for (size_t i = 0; i < sizeof frames; ++i) frames[i] = 0;
}

static void print_lost(unsigned flags) {
  const tarn_heap_options checked = TARN_HEAP_OPTIONS(.mode = TARN_MODE_CHECKED, .name = HEAP_NAME);
  const tarn_heap heap = tarn_heap_create(&checked);
  lose(heap);
  clear_frames();
  const tarn_unreachable_options options =
      TARN_UNREACHABLE_OPTIONS(.heaps = &heap, .heap_count = 1, .flags = flags);
  CHECK(tarn_print_unreachable(STDOUT_FILENO, &options, NULL) == 0);
}

/* What the program prints under its other name. */
static void run_as(const char* path, const char* form, char* said, size_t bytes) {
  int ends[2];
  CHECK(pipe(ends) == 0);
  const pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    dup2(ends[1], STDOUT_FILENO);
    execl(path, path, form, (char*)NULL);
    _exit(2);
  }
  close(ends[1]);
  size_t length = 0;
  for (ssize_t got; (got = read(ends[0], said + length, bytes - 1 - length)) > 0;) {
    length += (size_t)got;
  }
  said[length] = '\0';
  close(ends[0]);
  CHECK(status_of_child(child) == 0);
}

int main(int count, char** words) {
  begin(60);
  if (count > 1) {
    print_lost(strcmp(words[1], "json") == 0 ? TARN_UNREACHABLE_JSON : 0);
    return 0;
  }
  char own[4096];
  const ssize_t length = readlink("/proc/self/exe", own, sizeof own - 1);
  CHECK(length > 0);
  own[length] = '\0';
  char other[4200];
  snprintf(other, sizeof other, "%s." FILE_NAME, own);
  unlink(other);
  if (link(own, other) != 0) skip("no links here");
  static char said[20000];
  run_as(other, "json", said, sizeof said);
  CHECK(strstr(said, "\"heap\":\"a\\\"b\\\\\\u000a\\ufffd\xc3\xa9\\ufffd\",") != NULL);
  CHECK(strstr(said, "lost\\\"names\\\\\",\"offset\":\"0x") != NULL);
  CHECK(strchr(said, '\xff') == NULL);
  run_as(other, "text", said, sizeof said);
  CHECK(strstr(said, "heap \"a\"b\\x5c\\x0a\\xff\xc3\xa9\\xc3\" (number ") != NULL);
  CHECK(strstr(said, "lost\"names\\x5c+0x") != NULL);
  CHECK(unlink(other) == 0);
  return 0;
}
