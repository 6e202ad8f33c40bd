// orders: a shop's books in standard C++, each part with memory of its own: customers in a heap,
// the orders of a day in an arena, events in a static pool, and lines of text through std::pmr with
// a resource that checks. It reads lines "CUSTOMER ITEM PRICE" and prints what each customer owes.
//
//   orders < orders.txt
//
// SPDX-License-Identifier: MIT
#include <cstdio>
#include <iostream>
#include <memory_resource>
#include <sstream>
#include <string>
#include <string_view>

#include "tarn/arena/arena.hpp"
#include "tarn/pool/static_pool.hpp"
#include "tarn/standard/checking_resource.hpp"
#include "tarn/standard/class_new.hpp"
#include "tarn/standard/containers.hpp"
#include "tarn/standard/owners.hpp"
#include "tarn/standard/pmr.hpp"

namespace {

// The users of this class need not know of its heap.
class Customer {
 public:
  TARN_CLASS_NEW(tarn::ClassHeap<Customer>)
  explicit Customer(std::string_view name, tarn::HeapRef heap) : name_(name, heap) {}
  const tarn::String<>& name() const { return name_; }
  void owe(long cents) { cents_ += cents; }
  long cents() const { return cents_; }

 private:
  tarn::String<> name_;
  long cents_ = 0;
};

struct Order {
  Customer* customer;
  const char* item;
  long cents;
};

// The last events, in blocks that exist before main.
tarn::StaticPool<32, 64> event_nodes;
using Events = std::list<long, tarn::StaticAllocator<long, event_nodes>>;

class Shop {
 public:
  // Reads a line. False for one that is no order.
  bool take(const std::string& line) {
    std::istringstream words(line);
    std::string who;
    std::string item;
    double price = 0;
    if (!(words >> who >> item >> price) || price < 0) return false;
    const long cents = static_cast<long>(price * 100 + 0.5);
    auto known = customers_.find(std::string_view(who));
    if (known == customers_.end()) {
      const tarn::HeapRef heap = heap_;
      auto customer = tarn::Unique<Customer>(new (heap) Customer(who, heap));
      known = customers_.emplace(tarn::String<>(who, heap), std::move(customer)).first;
    }
    orders_.push_back({known->second.get(), today_.copy(item.c_str()), cents});
    known->second->owe(cents);
    last_.push_back(cents);
    if (last_.size() > 3) last_.pop_front();
    return true;
  }

  void print() {
    std::pmr::string text(&checked_);
    for (const auto& [name, customer] : customers_) {
      char line[100];
      std::snprintf(line, sizeof line, "%-12s %8.2f\n", name.c_str(),
                    static_cast<double>(customer->cents()) / 100);
      text += line;
    }
    std::fputs(text.c_str(), stdout);
    std::printf("%zu orders, the last of %.2f\n", orders_.size(),
                last_.empty() ? 0 : static_cast<double>(last_.back()) / 100);
  }

  // The day is over: its orders go at once, customers stay.
  std::size_t close() {
    orders_ = tarn::Vector<Order, tarn::ArenaRef>(today_);
    today_.reset();
    return static_cast<std::size_t>(heap_.stats().live_blocks);
  }

 private:
  tarn::Heap heap_{"customers"};
  tarn::Arena today_;
  tarn::Resource<> resource_{heap_};
  tarn::CheckingResource checked_{&resource_, "lines"};
  tarn::Map<tarn::String<>, tarn::Unique<Customer>, tarn::HeapRef, std::less<>> customers_{heap_};
  tarn::Vector<Order, tarn::ArenaRef> orders_{today_};
  Events last_;
};

}  // namespace

int main() {
  Shop shop;
  std::string line;
  for (int number = 1; std::getline(std::cin, line); ++number) {
    if (line.empty() || shop.take(line)) continue;
    std::fprintf(stderr, "orders: line %d: write CUSTOMER ITEM PRICE, not: %s\n", number,
                 line.c_str());
    return 1;
  }
  shop.print();
  std::printf("%zu blocks in the heap of customers, none of the day\n", shop.close());
  return 0;
}
