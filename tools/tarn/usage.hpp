// usage: the usage line of a verb that the parser cannot know: it has words that were taken off
// before parsing, or several forms.
// SPDX-License-Identifier: MIT
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

namespace tarn {

class UsageFormatter : public CLI::Formatter {
 public:
  explicit UsageFormatter(const char* forms) : forms_(forms) {}
  std::string make_usage(const CLI::App*, std::string) const override { return forms_; }

 private:
  const char* forms_;
};

// `forms` is "Usage: ..." with a line for each form.
inline void set_usage(CLI::App* verb, const char* forms) {
  verb->formatter(std::make_shared<UsageFormatter>(forms));
}

}  // namespace tarn
