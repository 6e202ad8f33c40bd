// c_strings: the mistakes of c_strings.c.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

void copy_without_its_end(size_t bytes);
void append_too_much(size_t bytes);
void print_too_much(size_t bytes);
void room_for_a_pointer(size_t bytes);
void one_element_too_many(size_t bytes);
void free_where_a_loop_ended(size_t bytes);
void free_a_field(size_t bytes);
void duplicate_twice_freed(size_t bytes);
void free_on_an_error_path(size_t bytes);
void line_kept_after_the_next(size_t bytes);
void list_freed_and_read(size_t bytes);

#ifdef __cplusplus
}
#endif
