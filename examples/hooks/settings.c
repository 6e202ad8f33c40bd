/* settings: reads JSON with cJSON, changes it, and ends the document with its heap.
 *
 * SPDX-License-Identifier: MIT */
#include <tarn/hooks/cjson.h>

#include "held.h"

static const char text[] = "{\"name\": \"tarn\", \"sizes\": [16, 32, 48], \"checked\": false}";

int main(void) {
  tarn_heap heap = heap_of("cjson", 1 << 20);
  tarn_cjson_install();
  const tarn_heap* const before = tarn_cjson_use(&heap);
  cJSON* const settings = cJSON_Parse(text);
  if (settings == NULL) return 1;
  cJSON_ReplaceItemInObject(settings, "checked", cJSON_CreateTrue());
  cJSON_AddItemToArray(cJSON_GetObjectItem(settings, "sizes"), cJSON_CreateNumber(64));
  char* const printed = cJSON_PrintUnformatted(settings);
  tarn_cjson_use(before);
  if (printed == NULL) return 1;
  printf("%s\n", printed);
  print_held(heap, "with the document and its text");
  tarn_heap_destroy(heap); /* No cJSON_Delete, no cJSON_free. */
  return 0;
}
