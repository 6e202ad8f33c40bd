// options: see options.hpp.
//
// SPDX-License-Identifier: MIT
#include "platform/report/options.hpp"

#include "platform/report/report.hpp"
#include "tarn/source/mode.h"

namespace tarn {

namespace {

constexpr const char* mode_names[] = {"fast", "checked", "guarded", "passthrough", "hardened"};
static_assert(TARN_MODE_FAST == 0 && TARN_MODE_CHECKED == 1 && TARN_MODE_GUARDED == 2 &&
              TARN_MODE_PASSTHROUGH == 3);

}  // namespace

bool refuse_size(std::size_t said_bytes, std::size_t bytes, const char* function,
                 const char* macro) noexcept {
  Line line;
  line.text("tarn: invalid options: ").text(function).text(": bytes is ").decimal(said_bytes);
  line.text(", not ").decimal(bytes).text(": write ").text(macro).text("(...), which sets it");
  if (said_bytes != 0) line.text(", and compile with the headers of this library");
  line.print();
  return false;
}

void report_refused_mode(int mode, const char* function, const char* why) noexcept {
  Line line;
  line.text("tarn: invalid options: ").text(function).text(": mode ").text(mode_names[mode]);
  line.text(" is refused: ").text(why).print();
}

bool is_mode(int mode, const char* function) noexcept {
  if (mode >= TARN_MODE_FAST && mode <= TARN_MODE_PASSTHROUGH) return true;
  if (mode == TARN_MODE_HARDENED) {
    report_refused_mode(mode, function,
                        "only the process's malloc has it: TARN_OPTIONS=mode=hardened");
    return false;
  }
  Line line;
  line.text("tarn: invalid options: ").text(function).text(": mode ");
  if (mode < 0) line.text("-");
  const auto number = static_cast<unsigned>(mode);
  line.decimal(mode < 0 ? 0u - number : number).text(" is none of enum tarn_mode").print();
  return false;
}

}  // namespace tarn
