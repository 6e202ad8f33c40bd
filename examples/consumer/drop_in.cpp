// drop_in: a program that knows nothing of tarn but asks, at the end, who served it. Linked to
// tarn::malloc (or tarn::malloc_static), its `new` and malloc are tarn's.
//
// SPDX-License-Identifier: MIT
#include <cstdio>
#include <map>
#include <string>

#include <tarn/tarn.h>

int main() {
  std::map<int, std::string> words;
  for (int i = 0; i < 10000; ++i) words[i] = "a string too long to lie inside of its object";

  static tarn_account account;
  if (tarn_process_account(&account, sizeof(account)) != 0) return 1;
  std::printf("tarn %s serves %llu bytes\n", tarn_version(),
              static_cast<unsigned long long>(account.live_bytes));
  return account.live_bytes >= 10000 * 46 ? 0 : 1;
}
