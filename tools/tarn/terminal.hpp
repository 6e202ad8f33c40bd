// terminal: tarn's own output to the user, all of it on stderr: messages, warnings, progress.
//
// Colour and progress appear only where a person watches: stderr is a terminal, TERM is not "dumb",
// and NO_COLOR is unset or empty. --color and --no-color override that for colour.
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
  // Writes `text` and a newline. Removes the progress bar first, if there is one.
  void say(std::string_view text);
  // As say(), with "tarn: " in front; the word after that is coloured as a warning.
  void warn(std::string_view text);
  void show_progress(std::size_t done, std::size_t total, std::string_view what);
  void clear_progress();

 private:
  bool has_color_;
  bool has_progress_;
  bool is_quiet_;
  bool shows_bar_ = false;
};

// Writes all of `text`, in as many pieces as the kernel takes. False, with errno, on an error. An
// error on stderr cannot be reported anywhere.
bool write_fully(int descriptor, std::string_view text) noexcept;

}  // namespace tarn
