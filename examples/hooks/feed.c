/* feed: counts the elements of an XML text with expat, and ends the parser with its heap.
 *
 * SPDX-License-Identifier: MIT */
#include <string.h>
#include <tarn/hooks/expat.h>

#include "held.h"

struct counts {
  int elements;
  int depth;
  int depth_most;
};

static void begin(void* context, const XML_Char* name, const XML_Char** attributes) {
  struct counts* const counts = context;
  (void)name;
  (void)attributes;
  counts->elements += 1;
  counts->depth += 1;
  if (counts->depth > counts->depth_most) counts->depth_most = counts->depth;
}
static void end(void* context, const XML_Char* name) {
  (void)name;
  ((struct counts*)context)->depth -= 1;
}

static const char text[] =
    "<feed><title>News</title><entry id='1'><title>One</title><link/></entry>"
    "<entry id='2'><title>Two</title></entry></feed>";

int main(void) {
  tarn_heap heap = heap_of("expat", 1 << 20);
  struct counts counts = {0, 0, 0};
  XML_Parser const parser = tarn_expat_create(&heap, NULL, NULL);
  if (parser == NULL) return 1;
  XML_SetUserData(parser, &counts);
  XML_SetElementHandler(parser, begin, end);
  if (tarn_expat_parse(parser, &heap, text, (int)strlen(text), 1) != XML_STATUS_OK) {
    fprintf(stderr, "feed: %s\n", XML_ErrorString(XML_GetErrorCode(parser)));
    return 1;
  }
  printf("%d elements, %d deep\n", counts.elements, counts.depth_most);
  print_held(heap, "after the last element");
  tarn_heap_destroy(heap); /* The parser ends with it. */
  return 0;
}
