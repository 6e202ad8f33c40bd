// terminal: see terminal.hpp.
// SPDX-License-Identifier: MIT
#include "terminal.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

namespace tarn {

namespace {

bool is_set(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr && *value != '\0';
}

bool is_person_watching() {
  const char* const kind = std::getenv("TERM");
  return ::isatty(STDERR_FILENO) == 1 && (kind == nullptr || std::string_view(kind) != "dumb");
}

std::size_t columns() {
  winsize size{};
  if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
  return size.ws_col;
}

std::string_view code_of(Style style) {
  switch (style) {
    case Style::plain: break;
    case Style::strong: return "1";
    case Style::faint: return "2";
    case Style::good: return "32";
    case Style::bad: return "31";
    case Style::warning: return "33";
  }
  return "0";
}

}  // namespace

bool write_fully(int descriptor, std::string_view text) noexcept {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

Terminal::Terminal(ColorChoice choice, bool is_quiet)
    : has_color_(choice == ColorChoice::always ||
                 (choice == ColorChoice::automatic && is_person_watching() && !is_set("NO_COLOR"))),
      has_progress_(is_person_watching() && !is_quiet),
      is_quiet_(is_quiet) {}

std::string Terminal::paint(Style style, std::string_view text) const {
  if (!has_color_ || style == Style::plain) return std::string(text);
  return fmt::format("\x1b[{}m{}\x1b[0m", code_of(style), text);
}

void Terminal::say(std::string_view text) {
  clear_progress();
  if (is_quiet_) return;
  // One write for the whole text, so that it does not mix with the output of children.
  write_fully(STDERR_FILENO, fmt::format("{}\n", text));
}

void Terminal::warn(std::string_view text) {
  say(fmt::format("tarn: {} {}", paint(Style::warning, "note:"), text));
}

void Terminal::show_progress(std::size_t done, std::size_t total, std::string_view what) {
  if (!has_progress_) return;
  constexpr std::size_t cells = 24;
  const std::size_t filled = total == 0 ? cells : cells * done / total;
  std::string line = fmt::format("[{}{}] {}/{} {}", std::string(filled, '#'),
                                 std::string(cells - filled, '.'), done, total, what);
  // A wrapped line could not be erased by a carriage return.
  line.resize(std::min(line.size(), columns() - 1));
  write_fully(STDERR_FILENO, fmt::format("\r\x1b[K{}", line));
  shows_bar_ = true;
}

void Terminal::clear_progress() {
  if (!shows_bar_) return;
  write_fully(STDERR_FILENO, "\r\x1b[K");
  shows_bar_ = false;
}

}  // namespace tarn
