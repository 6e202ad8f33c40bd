// report_api: the functions of tarn/diagnose/report.h.
//
// SPDX-License-Identifier: MIT
#include "platform/report/report.hpp"
#include "tarn/diagnose/report.h"

extern "C" {

void tarn_report_line(const char* kind, const char* text) {
  tarn::Line().text("tarn: ").text(kind).text(": ").text(text).print();
}

std::size_t tarn_site_text(const void* return_address, char* text, std::size_t room) {
  return tarn::Line().site(return_address).copy(text, room);
}

}  // extern "C"
