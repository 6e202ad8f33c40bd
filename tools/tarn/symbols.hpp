// symbols: which functions and lines an address of a program belongs to, by the symbol tables and
// the DWARF of its modules (elfutils' libdw).
// SPDX-License-Identifier: MIT
#pragma once

#include <elfutils/libdwfl.h>
#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace tarn {

// A function that runs at an address. One that is inlined comes before the one it is inlined into.
struct CodeFrame {
  std::string function;  // Empty: not known.
  std::string file;      // Empty: not known.
  int line = 0;
  bool is_inlined = false;
};

// What a line of a report has behind a call: " FUNCTION at FILE:LINE (inlined)", as far as known.
std::string text_of(const CodeFrame& frame);

class Symbols {
 public:
  // Of the modules of a running process; or of files, by their names without folders. Throws
  // Failure when they cannot be read.
  static Symbols of_process(pid_t process);
  static Symbols of_files(const std::vector<std::string>& files);

  // What runs at the address; of files: `offset` bytes from where the module begins. The innermost
  // comes first; none when nothing is known.
  std::vector<CodeFrame> at(const std::string& module, std::uint64_t offset,
                            std::uint64_t address) const;

 private:
  struct End {
    void operator()(Dwfl* session) const noexcept { dwfl_end(session); }
  };

  Symbols(Dwfl* session, bool is_process) : session_(session), is_process_(is_process) {}

  std::unique_ptr<Dwfl, End> session_;
  bool is_process_;
};

}  // namespace tarn
