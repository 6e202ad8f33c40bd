// classes: the verb `tarn classes`. It finds the best class table for a program's sizes, and shows
// what ready-made ones make of them.
// SPDX-License-Identifier: MIT
#pragma once

#include <CLI/App.hpp>
#include <string>
#include <vector>

#include "run.hpp"

namespace tarn {

struct ClassesOptions {
  std::vector<std::string> words;  // PROGRAM and ARGS; empty: a file is read
  std::string file;
  std::string uniform;
  std::string code;
  std::string json;
  std::string save;
  std::string library;
  std::size_t classes = 0;  // 0: as many as pay
};

void add_classes_verb(CLI::App& app, ClassesOptions& options);
Ending classes_verb(const ClassesOptions& options);

}  // namespace tarn
