// program: which executable will really run, and whether a preloaded malloc can reach it.
//
// Before the start tarn warns of programs that ignore LD_PRELOAD or bring a malloc of their own;
// they run all the same. The warning is a reading of the file, not a promise: the account that the
// program leaves, or does not leave, is the proof.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

namespace tarn {

struct Note {
  std::string kind;  // one word, stable: it is a key in the JSON
  std::string text;  // one sentence for people
};

struct Inspection {
  std::string path;            // the executable that runs; for a script its interpreter
  bool is_reachable = true;    // false: it will run on its own malloc
  bool is_preloadable = true;  // false: LD_PRELOAD itself would harm it, so it is not set
  std::vector<Note> notes;
};

// The file that execvp would start for `word`. Empty if nothing executable has that name.
std::string find_program(const std::string& word);

// Follows scripts (and `env` in their first line) to the executable, and inspects that.
Inspection inspect_program(const std::string& word);

}  // namespace tarn
