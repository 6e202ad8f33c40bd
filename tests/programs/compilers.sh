# compilers: gcc and clang compile, link and run C++; the object file is the one that they make
# without tarn, byte for byte.
#
# SPDX-License-Identifier: MIT
needs="g++ cmp"

write_source() {
  cat > unit.cpp << 'END'
#include <algorithm>
#include <iostream>
#include <map>
#include <memory>
#include <regex>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

template <int n>
struct Fibonacci {
  static constexpr long value = Fibonacci<n - 1>::value + Fibonacci<n - 2>::value;
};
template <>
struct Fibonacci<1> { static constexpr long value = 1; };
template <>
struct Fibonacci<0> { static constexpr long value = 0; };

int main() {
  std::map<std::string, std::vector<int>> places;
  const std::string text = "one two three two one two";
  const std::regex word("[a-z]+");
  int at = 0;
  for (std::sregex_iterator it(text.begin(), text.end(), word), end; it != end; ++it) {
    places[it->str()].push_back(at++);
  }
  std::unordered_map<std::string, std::variant<int, std::string>> mixed;
  mixed["five"] = 5;
  mixed["text"] = std::string("x");
  auto shared = std::make_shared<std::vector<long>>(100, Fibonacci<60>::value);
  std::sort(shared->begin(), shared->end());
  std::cout << places.size() << ' ' << places["two"].size() << ' ' << mixed.size() << ' '
            << shared->back() << '\n';
}
END
}

try_compiler() {
  compiler=$1
  "$compiler" -std=c++20 -O1 -c unit.cpp -o plain.o
  on_tarn "$compiler" -std=c++20 -O1 -c unit.cpp -o tarn.o
  cmp plain.o tarn.o || fail "$compiler writes another object file on tarn"
  on_tarn "$compiler" tarn.o -o program
  expect "the program by $compiler" "$(on_tarn ./program)" "3 3 2 1548008755920"
  expect_account program
}

run_case() {
  write_source
  try_compiler g++
  expect_account cc1plus
  if command -v clang++ > "$work/which"; then
    try_compiler clang++
    expect_account 'clang*'
  else
    echo "compilers: clang++ is not here and was left out"
  fi
}
