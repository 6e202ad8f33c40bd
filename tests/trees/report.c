/* Reports of trees in C: text to a writer of one's own, JSON to a stream, and a report from within
 * a destructor.
 *
 * SPDX-License-Identifier: MIT */
#include <string.h>

#include "../check.h"
#include "tarn/tree/tree.h"
#include "tarn/tree/tree_report.h"

struct text {
  char bytes[2000];
  size_t length;
};

static int add(void* context, const char* piece, size_t bytes) {
  struct text* const text = context;
  if (bytes >= sizeof text->bytes - text->length) return -1;
  memcpy(text->bytes + text->length, piece, bytes);
  text->length += bytes;
  text->bytes[text->length] = '\0';
  return 0;
}

static int count_pieces(void* context, const char* piece, size_t bytes) {
  (void)piece;
  CHECK(bytes > 0);
  ++*(int*)context;
  return 7; /* Anything but 0 ends it. */
}

static struct text from_destructor;

static int report_parent(void* node) {
  return tarn_tree_report(tarn_tree_parent(node), NULL, add, &from_destructor);
}

int main(void) {
  void* const request = tarn_tree_allocate(NULL, 0);
  void* const reply = tarn_tree_allocate(request, 0);
  CHECK(request != NULL && reply != NULL);
  CHECK(tarn_tree_set_static_name(request, "request") == 0);
  CHECK(tarn_tree_set_name(reply, "reply") == 0);

  tarn_tree_stats stats = TARN_TREE_STATS();
  CHECK(tarn_tree_get_stats(reply, &stats) == 0);
  struct text expected, text = {.length = 0};
  const int length =
      snprintf(expected.bytes, sizeof expected.bytes, "reply: %zu bytes, %zu overhead\n",
               stats.usable_bytes, stats.overhead_bytes);
  CHECK(tarn_tree_report(reply, NULL, add, &text) == 0);
  CHECK(text.length == (size_t)length && strcmp(text.bytes, expected.bytes) == 0);

  const tarn_tree_report_options json = TARN_TREE_REPORT_OPTIONS(.format = TARN_TREE_REPORT_JSON);
  FILE* const file = tmpfile();
  CHECK(file != NULL);
  CHECK(tarn_tree_report_to_file(request, &json, file) == 0);
  rewind(file);
  char line[400];
  CHECK(fgets(line, sizeof line, file) != NULL);
  CHECK(strncmp(line, "{\"kind\": \"node\", \"name\": \"request\", ", 36) == 0);
  fclose(file);

  FILE* const full = fopen("/dev/full", "w");
  CHECK(full != NULL);
  setvbuf(full, NULL, _IONBF, 0);
  CHECK(tarn_tree_report_to_file(request, &json, full) == -1 && errno == ENOSPC);
  fclose(full);

  int calls = 0;
  CHECK(tarn_tree_report(request, NULL, count_pieces, &calls) == -1 && calls == 1);

  CHECK(tarn_tree_set_destructor(reply, report_parent) == 0);
  CHECK(tarn_tree_dispose(request) == 0);
  CHECK(strstr(from_destructor.bytes, "\n  reply: ") != NULL);
  return 0;
}
