// option_table: the options of the library, for `tarn help options`. Written by
// dev/options, from src/platform/settings/settings.hpp; not to be edited.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>

namespace tarn {

struct LibraryOption {
  const char* name;
  const char* values;
  const char* fallback;  // empty: none
  const char* help;
};

// clang-format off
inline constexpr std::array<LibraryOption, 23> library_options = {{
    {"account", "FOLDER", "",
     "each process keeps a file named by its process number there, with the account of its "
     "heap (tarn/diagnose/account.h)"},
    {"background_purge", "0 to 1", "0",
     "1: a thread of tarn's own gives freed memory back while the program sleeps"},
    {"check_families", "0 to 1", "1",
     "0: in a mode that checks, a block of operator new may go by free, and the like"},
    {"check_sizes", "0 to 1", "1",
     "0: a block may be freed with another size than it has (free_sized, operator delete)"},
    {"check_tree_threads", "0 to 1", "0",
     "1: reports subtrees (tarn/tree/tree.h) that a thread uses although they are another "
     "one's"},
    {"guard_every", "0 to 2147483648", "0",
     "one of so many of malloc's blocks is a guarded one, chosen at random (in mode fast); "
     "0: none"},
    {"huge_from_kib", "0 to 4294967296", "8192",
     "from this size on the heap grows by huge pages, where the OS gives them for the "
     "asking; 0: never"},
    {"large_move_kib", "64 to 4294967296", "256",
     "from this size on a growing large block may move by page tables"},
    {"leak_signal", "0 to 64", "0",
     "with leaks=1: the number of a signal at which leaks are reported, too; 0: none"},
    {"leak_status", "0 to 255", "0",
     "with leaks=1: the exit status if there are any and the program's is 0; 0: the "
     "program's"},
    {"leaks", "0 to 1", "0",
     "1: a process that ends by exit reports the blocks that no pointer reaches "
     "(docs/unreachable.md)"},
    {"misuse_status", "0 to 255", "0",
     "the exit status of a process that has misused memory; 0: it ends by SIGABRT"},
    {"mode", "fast|hardened|checked|guarded|passthrough", "",
     "how strictly malloc checks the use of its blocks (tarn/source/mode.h)"},
    {"purge_delay_ms", "0 to 3600000", "500",
     "how long freed memory stays warm before it goes back to the OS; 0: at once"},
    {"purge_keep_kib", "0 to 4294967296", "1024",
     "freed memory that stays warm however old it is"},
    {"report_file", "FILE", "",
     "a misuse is reported at the end of this file, not on standard error"},
    {"report_json", "0 to 1", "0",
     "1: a misuse is reported as a line of JSON"},
    {"stack_depth", "0 to 64", "16",
     "calls of each stack in a report of misuse (docs/reports.md); 0, 1: the call itself"},
    {"suppressions", "FILE", "",
     "leaks that it leaves out: names of functions, files and modules"},
    {"symbolizer", "PROGRAM", "",
     "the path of the command tarn, through which reports get names of functions and lines"},
    {"unalloc_lifo", "0 to 1", "0",
     "1: of unalloc's blocks the one that was freed last is the next one"},
    {"unalloc_steps", "1 to 8", "1",
     "size classes a doubling of unalloc (tarn/heap/unalloc.h)"},
    {"xalloc_mode", "0 to 3", "0",
     "how strictly xmalloc checks the use of its blocks (tarn/pool/xalloc.h): 1 checked, 2 "
     "guarded, 3 passthrough"},
}};
// clang-format on

}  // namespace tarn
