/* transfer: reads a URL (its own file, if none is given) with libcurl, whose memory is a heap.
 *
 * SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <tarn/hooks/curl.h>

#include "held.h"

static size_t count_bytes(char* text, size_t bytes, size_t count, void* total) {
  (void)text;
  *(size_t*)total += bytes * count;
  return bytes * count;
}

int main(int argc, char** argv) {
  static tarn_heap heap;
  char url[5000];
  char* const self = realpath(argv[0], NULL);
  size_t total = 0;
  heap = heap_of("curl", 16 << 20);
  if (tarn_curl_install(&heap, CURL_GLOBAL_DEFAULT) != CURLE_OK) return 1;
  snprintf(url, sizeof url, "file://%s", self == NULL ? "/" : self);
  free(self);
  CURL* const easy = curl_easy_init();
  curl_easy_setopt(easy, CURLOPT_URL, argc > 1 ? argv[1] : url);
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, count_bytes);
  curl_easy_setopt(easy, CURLOPT_WRITEDATA, &total);
  const CURLcode code = curl_easy_perform(easy);
  printf("%zu bytes: %s\n", total, curl_easy_strerror(code));
  print_held(heap, "after the transfer");
  curl_easy_cleanup(easy);
  curl_global_cleanup();
  print_held(heap, "after curl_global_cleanup");
  tarn_heap_destroy(heap);
  return code == CURLE_OK ? 0 : 1;
}
