// containers: the companions of xallocator beside std's, filled with `number` elements and cleared:
// a list of numbers; maps of numbers to letters, keys in order and scattered; a list of strings, of
// 20 to 99 letters. Nanoseconds of processor time an element, the median of 41 goes.
//
// SPDX-License-Identifier: MIT
#include <list>
#include <map>
#include <string>

#include "../meter/process.h"
#include "tarn/compat/xlist.h"
#include "tarn/compat/xmap.h"
#include "tarn/compat/xstring.h"
#include "task.hpp"

namespace tarn {
namespace {

constexpr int goes = 41;

struct Standard {
  using List = std::list<int>;
  using Map = std::map<int, char>;
  using String = std::string;
  using Strings = std::list<std::string>;
};
struct Companions {
  using List = xlist<int>;
  using Map = xmap<int, char>;
  using String = xstring;
  using Strings = xlist<xstring>;
};

template <class Container, class Fill>
double ns_of(std::size_t elements, Fill fill) {
  std::vector<double> took;
  for (int go = 0; go < goes; ++go) {
    const double begin = now_ns(CLOCK_PROCESS_CPUTIME_ID);
    {
      Container container;
      for (std::size_t i = 0; i < elements; ++i) fill(container, i);
      asm volatile("" : : "r"(&container) : "memory");
    }
    took.push_back((now_ns(CLOCK_PROCESS_CPUTIME_ID) - begin) / static_cast<double>(elements));
  }
  return median(took);
}

template <class Kind>
void measure(std::size_t elements) {
  using List = typename Kind::List;
  using Map = typename Kind::Map;
  using Strings = typename Kind::Strings;
  print({
      {"list_ns",
       ns_of<List>(elements,
                   [](List& list, std::size_t i) { list.push_back(static_cast<int>(i)); })},
      {"map_ns",
       ns_of<Map>(elements, [](Map& map, std::size_t i) { map[static_cast<int>(i)] = 'a'; })},
      {"scattered_ns",
       ns_of<Map>(elements,
                  [](Map& map, std::size_t i) { map[static_cast<int>(i * 2654435761U)] = 'a'; })},
      {"strings_ns", ns_of<Strings>(elements,
                                    [](Strings& strings, std::size_t i) {
                                      strings.push_back(typename Kind::String(20 + i % 80, 'a'));
                                    })},
  });
}

}  // namespace

bool task_containers(std::string_view contestant, std::size_t number) {
  if (contestant == "malloc") {
    measure<Standard>(number);
  } else if (contestant == "xmalloc") {
    measure<Companions>(number);
  } else {
    return false;
  }
  return true;
}

}  // namespace tarn
