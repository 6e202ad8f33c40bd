// terminal: what tarn itself says, all of it on stderr: colour, warnings, progress.
//
// Colour and progress appear only where a person watches: stderr is a terminal, TERM is not "dumb"
// and NO_COLOR is unset or empty; --color and --no-color overrule that for colour.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tarn {

enum class ColorChoice { automatic, always, never };
enum class Style { plain, strong, faint, good, bad, warning };

class Terminal {
 public:
  Terminal(ColorChoice choice, bool is_quiet);
  ~Terminal() { clear_progress(); }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  bool is_quiet() const noexcept { return is_quiet_; }
  std::string paint(Style style, std::string_view text) const;
  // Writes `text` and a newline; removes the progress bar first, if one stands there.
  void say(std::string_view text);
  // Like say(), after "tarn: "; the word after that is coloured as a warning.
  void warn(std::string_view text);
  void show_progress(std::size_t done, std::size_t total, std::string_view what);
  void clear_progress();

 private:
  bool has_color_;
  bool has_progress_;
  bool is_quiet_;
  bool shows_bar_ = false;
};

// Writes all of `text`, whatever the kernel takes at a time. False, with errno, on an error; of
// stderr there is nowhere left to say so.
bool write_fully(int descriptor, std::string_view text) noexcept;

}  // namespace tarn
