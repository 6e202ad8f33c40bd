// tree_report: what a tree holds, by name, as text or as JSON, in C++ (C++17). Header only over
// tarn/tree/tree_report.h, which says what the lines mean and what they cost.
//
//   tarn::tree::report(std::cerr, document.root());
//   std::string json = tarn::tree::report_string(document.root(), {.json = true});   // C++20
//
// SPDX-License-Identifier: MIT
#ifndef TARN_TREE_REPORT_HPP
#define TARN_TREE_REPORT_HPP

#include "../detail/language.hpp"
#if defined(TARN_LANGUAGE_17)

#include <cerrno>
#include <cstddef>
#include <exception>
#include <ostream>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "tree_report.h"

namespace tarn::tree {

// The options of a report; each field means what it does in tarn_tree_report_options.
struct ReportOptions {
  bool json = false;
  std::size_t depth_max = 0;
  std::size_t bytes_min = 0;
  std::size_t alike_min = 0;
};

// Calls write(std::string_view) for each piece of the report. If write returns false, the report
// stops. Returns false, with errno, when write did so or the options make no sense. Throws what
// write throws.
template <class Write>
bool report(const void* node, Write&& write, const ReportOptions& from = {}) {
  struct Call {
    std::remove_reference_t<Write>& write;
    std::exception_ptr thrown;

    bool pass(std::string_view piece) {
      if constexpr (std::is_void_v<decltype(write(piece))>) {
        write(piece);
        return true;
      } else {
        return static_cast<bool>(write(piece));
      }
    }
    // The C function that calls this must not be left by an exception.
    static int piece(void* context, const char* text, std::size_t bytes) noexcept {
      Call& call = *static_cast<Call*>(context);
#if defined(__cpp_exceptions)
      try {
        return call.pass({text, bytes}) ? 0 : -1;
      } catch (...) {
        call.thrown = std::current_exception();
        return -1;
      }
#else
      return call.pass({text, bytes}) ? 0 : -1;
#endif
    }
  } call{write, {}};
  tarn_tree_report_options options = TARN_TREE_REPORT_OPTIONS();
  options.format = from.json ? TARN_TREE_REPORT_JSON : TARN_TREE_REPORT_TEXT;
  options.depth_max = from.depth_max;
  options.bytes_min = from.bytes_min;
  options.alike_min = from.alike_min;
  const bool done = tarn_tree_report(node, &options, Call::piece, &call) == 0;
  if (call.thrown != nullptr) std::rethrow_exception(std::move(call.thrown));
  return done;
}

// Writes the report to a stream. False: the stream did not take all of it.
inline bool report(std::ostream& stream, const void* node, const ReportOptions& options = {}) {
  return report(
      node,
      [&stream](std::string_view piece) {
        stream.write(piece.data(), static_cast<std::streamsize>(piece.size()));
        return stream.good();
      },
      options);
}

// Returns the report as a string; empty, with EINVAL, for options that make no sense.
inline std::string report_string(const void* node, const ReportOptions& options = {}) {
  std::string text;
  report(
      node, [&text](std::string_view piece) { text += piece; }, options);
  return text;
}

}  // namespace tarn::tree

#endif
#endif
