// The rows of the mistakes of C programs.
//
// SPDX-License-Identifier: MIT
#include "c_strings.h"
#include "misuse.hpp"

namespace misuse {

namespace {

constexpr std::size_t sizes_exact[] = {33,
                                       1009};  // One more than whole grains: nothing is rounded up.

constexpr Row rows[] = {
    {"copy_without_its_end", copy_without_its_end, sizes_exact},
    {"append_too_much", append_too_much, sizes_exact},
    {"print_too_much", print_too_much, sizes_exact},
    {"room_for_a_pointer", room_for_a_pointer, sizes_exact},
    {"one_element_too_many", one_element_too_many, sizes_exact},
    {"free_where_a_loop_ended", free_where_a_loop_ended, sizes_exact},
    {"free_a_field", free_a_field, sizes_exact},
    {"duplicate_twice_freed", duplicate_twice_freed, sizes_exact},
    {"free_on_an_error_path", free_on_an_error_path, sizes_exact},
    {"line_kept_after_the_next", line_kept_after_the_next, sizes_exact},
    {"list_freed_and_read", list_freed_and_read, size_small},
};

}  // namespace

const Family c_strings{"c", rows};

}  // namespace misuse
