// A program to the interfaces of D. Lafreniere's Allocator, of the class part of xallocator, and of
// stl_allocator with its containers, in the ways of their three mains. C++11 and later.
//
// SPDX-License-Identifier: MIT
#include <new>

#include "Allocator.h"
#include "Fault.h"
#include "xallocator.h"
#include "xlist.h"
#include "xmake_shared.h"
#include "xmap.h"
#include "xqueue.h"
#include "xset.h"
#include "xsstream.h"
#include "xstring.h"

#include "require.h"

using namespace std;

// --- Allocator

class MyClass {
  DECLARE_ALLOCATOR
 public:
  int value = 7;
};
IMPLEMENT_ALLOCATOR(MyClass, 0, 0)

Allocator allocatorHeapBlocks(100);
Allocator allocatorHeapPool(100, 20, NULL, "pool");
char staticMemoryPool[100 * 20];
Allocator allocatorStaticPool(100, 20, staticMemoryPool);
AllocatorPool<MyClass, 20> allocatorStaticPool2;
AllocatorPool<char[4096], 2000> allocatorStaticPoolBenchmark;

// A class that lends the allocator of its own, as a user of the source wrote it.
class Owner {
 public:
  Allocator& get() { return _allocator; }

 private:
  Allocator _allocator{64, 0};
};

static void use(Allocator& allocator, int size, int count) {
  void* blocks[2000];
  REQUIRE(allocator.GetBlockCount() == 0 || allocator.GetAllocations() != 0);
  for (int i = 0; i < count; i++) blocks[i] = allocator.Allocate(static_cast<size_t>(size));
  const UINT in_use = static_cast<UINT>(allocator.GetBlocksInUse());
  REQUIRE(in_use == static_cast<UINT>(count));
  for (int i = 0; i < count; i += 2) allocator.Deallocate(blocks[i]);
  for (int i = 1; i < count; i += 2) allocator.Deallocate(blocks[i]);
  REQUIRE(allocator.GetBlocksInUse() == 0);
  REQUIRE(allocator.GetAllocations() == allocator.GetDeallocations());
  REQUIRE(allocator.GetBlockSize() >= static_cast<size_t>(size));
}

static bool is_handled = false;
static void out_of_memory() { is_handled = true, throw std::bad_alloc(); }

static void use_allocators() {
  MyClass* myClass = new MyClass();
  REQUIRE(myClass->value == 7);
  delete myClass;
  MyClass* many = new MyClass[5];
  delete[] many;
  use(allocatorHeapBlocks, 100, 1000);
  use(allocatorHeapPool, 100, 20);
  use(allocatorStaticPool, 100, 20);
  use(allocatorStaticPool2, static_cast<int>(sizeof(MyClass)), 20);
  use(allocatorStaticPoolBenchmark, 4096, 2000);
  Owner owner;
  use(owner.get(), 64, 10);
  REQUIRE(allocatorHeapPool.GetName() != NULL);

  std::set_new_handler(out_of_memory);  // Called when a pool is full.
  for (int i = 0; i < 20; i++) (void)allocatorStaticPool.Allocate(100);
  try {
    (void)allocatorStaticPool.Allocate(100);
  } catch (const std::bad_alloc&) {
  }
  REQUIRE(is_handled);
  std::set_new_handler(NULL);
}

// --- xallocator

class Message {
  XALLOCATOR
  int number = 3;
};
struct Anywhere {
  int a;
  XALLOCATOR int b;
};
class Derived : public XallocatorBase {
 public:
  char text[500];
};

class MyClassStatic {
 public:
  MyClassStatic() { memory = xmalloc(100); }
  ~MyClassStatic() { xfree(memory); }

 private:
  void* memory;
};
static MyClassStatic myClassStatic;

static void use_classes() {
  Message* message = new Message();
  REQUIRE(message->number == 3);
  delete message;
  Message* messages = new Message[5];
  delete[] messages;
  void* raw = xmalloc(sizeof(Message));
  Message* placed = new (raw) Message();
  delete placed;
  Anywhere* anywhere = new Anywhere();
  anywhere->a = anywhere->b = 1;
  delete anywhere;
  delete new Derived();
  REQUIRE(new (std::nothrow) Message() != NULL);
  ASSERT_TRUE(anywhere != NULL);
}

// --- stl_allocator and its containers

static void use_containers() {
  xlist<int> myList;
  myList.push_back(123);
  xmap<char, int> myMap;
  myMap['a'] = 10;
  xmultimap<int, int> myMultimap;
  myMultimap.insert(std::make_pair(1, 2));
  xqueue<int> myQueue;
  myQueue.push(123);
  xset<xstring> mySet;
  mySet.insert("hello");
  mySet.insert("world");
  xmultiset<int> myMultiset;
  myMultiset.insert(1);
  xstringstream myStringStream;
  myStringStream << "hello world " << 2016 << ends;
  xwstringstream myWStringStream;
  myWStringStream << L"hello world " << 2016 << ends;
  xostringstream out;
  out << 1 << ' ' << 2.5;
  REQUIRE(out.str() == "1 2.5");
  xstring myString("hello world");
  xwstring wide(L"hello world");
  REQUIRE(myString.size() == wide.size() && mySet.size() == 2 && myQueue.front() == 123);
  std::shared_ptr<xstring> shared = xmake_shared<xstring>("text");
  REQUIRE(*shared == "text");
  std::list<int, stl_allocator<int>> plain(3, 5);
  REQUIRE(plain.back() == 5);

  xlist<xstring> strings;
  xmap<int, char> numbers;
  for (int i = 0; i < 10000; i++) {
    xstring text("benchmark");
    text += "benchmark test benchmark test benchmark test benchmark test benchmark test";
    strings.push_back(text);
    numbers[i] = 'a';
  }
  REQUIRE(strings.size() == 10000 && numbers.size() == 10000);
  strings.clear();
  numbers.clear();
}

int main(void) {
  use_allocators();
  use_classes();
  use_containers();
  xalloc_stats();
  return 0;
}
