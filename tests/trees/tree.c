/* tree: tarn/tree/tree.h in plain C: each function once, as C programs call it.
 *
 * SPDX-License-Identifier: MIT */
#include "tarn/tree/tree.h"

#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include "../check.h"

struct page {
  int number;
  char* title;
};

static int closed;
static int close_page(void* node) {
  const struct page* const page = node;
  closed += page->number;
  return 0;
}

static int refuse(void* node) { return node != NULL; }

static int released;
static void release(void* block) { released += *(int*)block; }

static char* listed(void* parent, const char* format, ...) {
  va_list list;
  char* text;
  va_start(list, format);
  text = tarn_tree_format_list(parent, format, list);
  va_end(list);
  return text;
}

static void test_nodes(void) {
  void* const document = tarn_tree_allocate(NULL, 0);
  struct page* page = tarn_tree_allocate(document, sizeof *page);
  int* const zeros = tarn_tree_allocate_zeroed(page, 10, sizeof *zeros);
  int* const numbers = tarn_tree_allocate_array(page, 10, sizeof *numbers);
  void* const aligned = tarn_tree_allocate_aligned(page, 256, 10);
  CHECK(document != NULL && page != NULL && zeros != NULL && numbers != NULL);
  CHECK((uintptr_t)page % 16 == 0 && (uintptr_t)aligned % 256 == 0);
  CHECK(zeros[0] == 0 && zeros[9] == 0 && tarn_tree_size(numbers) >= 10 * sizeof *numbers);

  page->number = 7;
  page->title = tarn_tree_format(page, "%s (%d)", "title", 7);
  CHECK(strcmp(page->title, "title (7)") == 0);
  page->title = tarn_tree_append(page->title, ", more");
  page->title = tarn_tree_append_format(page->title, " %c", 'x');
  CHECK(page->title != NULL && strcmp(page->title, "title (7), more x") == 0);
  CHECK(strcmp(listed(page, "%d-%d", 1, 2), "1-2") == 0);
  CHECK(strcmp(tarn_tree_string(page, "text"), "text") == 0);
  CHECK(strcmp(tarn_tree_string_n(page, "text", 2), "te") == 0);
  CHECK(memcmp(tarn_tree_copy(page, "abc", 3), "abc", 3) == 0);
  page = tarn_tree_reallocate(page, 5000);
  CHECK(page != NULL && page->number == 7 && tarn_tree_parent(page->title) == page);

  CHECK(tarn_tree_set_destructor(page, close_page) == 0);
  CHECK(tarn_tree_check(document) == 1);
  CHECK(tarn_tree_dispose(document) == 0 && closed == 7);
  CHECK(tarn_tree_dispose(NULL) == 0 && tarn_tree_size(NULL) == 0);
}

static void test_ways(void) {
  tarn_tree_stats stats = {sizeof(tarn_tree_stats), 0, 0, 0, 0, 0};
  void* const root = tarn_tree_allocate(NULL, 1);
  void* const a = tarn_tree_allocate(root, 1);
  void* const b = tarn_tree_allocate(root, 1);
  void* const below = tarn_tree_allocate(a, 1);
  CHECK(tarn_tree_set_name(a, "a") == 0 && tarn_tree_set_static_name(below, "below") == 0);
  CHECK(strcmp(tarn_tree_name(a), "a") == 0 && tarn_tree_name(b) == NULL);
  CHECK(tarn_tree_find(root, "below") == below && tarn_tree_find(root, "none") == NULL);
  CHECK(tarn_tree_find_ancestor(below, "a") == a);
  CHECK(tarn_tree_first_child(root) == a && tarn_tree_next_sibling(a) == b);
  CHECK(tarn_tree_next_sibling(b) == NULL && tarn_tree_is_ancestor(root, below) == 1);
  CHECK(tarn_tree_next(root, root) == a && tarn_tree_next(root, below) == b);
  CHECK(tarn_tree_get_stats(root, &stats) == 0 && stats.nodes == 4 && stats.depth == 3);
  CHECK(tarn_tree_steal(b, below) == 0 && tarn_tree_parent(below) == b);
  errno = 0;
  CHECK(tarn_tree_steal(below, root) == -1 && errno == ELOOP);
  CHECK(tarn_tree_dispose(root) == 0);
}

static void test_owners(void) {
  int block = 5;
  void* stayed = NULL;
  void* const a = tarn_tree_allocate(NULL, 1);
  void* const b = tarn_tree_allocate(NULL, 1);
  void* const node = tarn_tree_adopt(a, &block, release);
  void* const stubborn = tarn_tree_allocate(b, 1);
  CHECK(tarn_tree_adopted(node) == &block);
  CHECK(tarn_tree_reference(b, node) == 0 && tarn_tree_owners(node) == 2);
  CHECK(tarn_tree_unreference(a, node) == 0 && tarn_tree_parent(node) == b);
  CHECK(tarn_tree_dispose(a) == 0 && released == 0);
  CHECK(tarn_tree_set_destructor(stubborn, refuse) == 0);
  errno = 0;
  CHECK(tarn_tree_try_dispose(b, &stayed) == -1 && errno == EBUSY && stayed == stubborn);
  CHECK(tarn_tree_set_destructor(stubborn, NULL) == 0);
  CHECK(tarn_tree_dispose_children(b) == 0 && released == 5);
  CHECK(tarn_tree_dispose(b) == 0);
}

static void test_memory(void) {
  void* const root = tarn_tree_allocate(NULL, 1);
  void* const in_arena = tarn_tree_allocate_with_arena(root, 1, NULL);
  void* const in_heap = tarn_tree_allocate_with_heap(root, 1, NULL);
  void* const later = tarn_tree_allocate(root, 1);
  CHECK(tarn_tree_arena(in_arena) != NULL && tarn_tree_arena(in_heap) == NULL);
  CHECK(tarn_tree_heap(in_heap).record != NULL);
  CHECK(tarn_tree_give_heap(later, NULL) == 0);
  errno = 0;
  CHECK(tarn_tree_give_arena(later, NULL) == -1 && errno == EEXIST);
  CHECK(tarn_tree_allocate(in_arena, 10) != NULL && tarn_tree_allocate(in_heap, 10) != NULL);
  CHECK(tarn_tree_hand_over(root) == 0 && tarn_tree_take_over(root) == 0);
  CHECK(tarn_tree_dispose(root) == 0);
}

int main(void) {
  test_nodes();
  test_ways();
  test_owners();
  test_memory();
  return 0;
}
