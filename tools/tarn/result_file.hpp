// result_file: the file of --json or --save. It is opened before the program runs, so that a run is
// never lost to a path that cannot be written, and is left untouched unless there is something to
// write.
// SPDX-License-Identifier: MIT
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "descriptor.hpp"

namespace tarn {

class ResultFile {
 public:
  // Opens the file; an empty path stands for none, and "-" for stdout. Throws Failure, which names
  // `option`, if it cannot be written.
  explicit ResultFile(const std::string& path, std::string_view option = "--json");
  ~ResultFile();
  ResultFile(const ResultFile&) = delete;
  ResultFile& operator=(const ResultFile&) = delete;

  bool is_wanted() const noexcept { return !path_.empty(); }
  bool is_stdout() const noexcept { return path_ == "-"; }
  // Replaces what the file held. Throws Failure if not all of it could be written.
  void write(const nlohmann::ordered_json& json);
  void write_text(std::string_view text);

 private:
  std::string path_;
  std::string option_;
  Descriptor file_;
  bool is_made_here_ = false;
  bool is_written_ = false;
};

}  // namespace tarn
