// Mistakes of C programs with strings and arrays.
//
// SPDX-License-Identifier: MIT
#include "c_strings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void* opaque(void* p) {
  __asm__ volatile("" : "+r"(p) : : "memory");
  return p;
}

static char* text_of(size_t bytes) {
  char* const text = opaque(malloc(bytes));
  memset(text, 'x', bytes - 1);
  text[bytes - 1] = '\0';
  return text;
}

// The end of the string has no room.
void copy_without_its_end(size_t bytes) {
  char* const text = text_of(bytes);
  char* const copy = opaque(malloc(strlen(text)));
  strcpy(opaque(copy), text);
  free(copy);
  free(text);
}

void append_too_much(size_t bytes) {
  char* const text = opaque(malloc(bytes));
  char* const more = text_of(bytes);
  text[0] = '\0';
  strcat(opaque(text), more);
  strcat(opaque(text), more);
  free(text);
  free(more);
}

void print_too_much(size_t bytes) {
  char* const text = opaque(malloc(bytes));
  snprintf(opaque(text), bytes + 64, "%0*d", (int)bytes + 32, 7);
  free(text);
}

// sizeof of the pointer and not of what it leads to.
void room_for_a_pointer(size_t bytes) {
  char** const text = opaque(malloc(sizeof(char*)));
  memset(opaque(text), 'x', bytes);
  free(text);
}

void one_element_too_many(size_t bytes) {
  const size_t count = bytes / sizeof(int);
  int* const numbers = opaque(malloc(count * sizeof(int)));
  for (size_t i = 0; i <= count; ++i) ((int*)opaque(numbers))[i] = (int)i;
  free(numbers);
}

// A pointer that went along the string, and not the one that malloc gave.
void free_where_a_loop_ended(size_t bytes) {
  char* const text = text_of(bytes);
  char* at = text;
  while (*at != '\0') ++at;
  free(opaque(at));
}

void free_a_field(size_t bytes) {
  struct {
    char name[16];
    char* text;
  }* const entry = opaque(malloc(sizeof *entry + bytes));
  free(opaque(&entry->text));
}

void duplicate_twice_freed(size_t bytes) {
  char* const text = text_of(bytes);
  char* const copy = opaque(strdup(text));
  free(copy);
  free(text);
  free(copy);
}

// An error path that frees what the caller frees, too.
static int open_entry(char* name) {
  free(opaque(name));
  return -1;
}
void free_on_an_error_path(size_t bytes) {
  char* const name = text_of(bytes);
  if (open_entry(name) != 0) free(opaque(name));
}

void line_kept_after_the_next(size_t bytes) {
  char* line = text_of(bytes);
  char* const kept = opaque(line);
  char* const between = text_of(bytes);
  line = realloc(line, 8 * bytes);
  if (line != kept) memset(opaque(kept), 'y', bytes);
  free(line);
  free(between);
}

// A list that is freed by a loop which then reads the next pointer.
struct node {
  struct node* next;
  char text[40];
};
void list_freed_and_read(size_t bytes) {
  (void)bytes;
  struct node* first = NULL;
  for (int i = 0; i < 20; ++i) {
    struct node* const node = opaque(calloc(1, sizeof *node));
    node->next = first;
    first = node;
  }
  for (struct node* at = first; at != NULL; at = ((struct node*)opaque(at))->next) free(at);
}
