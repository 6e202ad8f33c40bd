/* pages: finds the titles in an XML document with libxml2, whose memory is a heap of 8 MiB.
 *
 * SPDX-License-Identifier: MIT */
#include <libxml/xpath.h>
#include <tarn/hooks/libxml2.h>

#include "held.h"

static const char text[] =
    "<library><page><title>Pools</title></page><page><title>Arenas</title></page></library>";

static void print_titles(xmlDoc* document) {
  xmlXPathContext* const context = xmlXPathNewContext(document);
  xmlXPathObject* const found = xmlXPathEvalExpression(BAD_CAST "//title", context);
  for (int i = 0; found != NULL && i < xmlXPathNodeSetGetLength(found->nodesetval); ++i) {
    xmlChar* const title = xmlNodeGetContent(xmlXPathNodeSetItem(found->nodesetval, i));
    printf("page: %s\n", (const char*)title);
    xmlFree(title);
  }
  xmlXPathFreeObject(found);
  xmlXPathFreeContext(context);
}

int main(void) {
  static tarn_heap heap;
  heap = heap_of("libxml2", 8 << 20);
  if (tarn_libxml2_install(&heap) != 0) return 1;
  xmlDoc* const document = xmlReadMemory(text, (int)strlen(text), "library", NULL, 0);
  if (document == NULL) return 1;
  print_titles(document);
  print_held(heap, "with the document");
  xmlFreeDoc(document);
  xmlCleanupParser();
  print_held(heap, "after xmlCleanupParser");
  tarn_heap_destroy(heap);
  return 0;
}
