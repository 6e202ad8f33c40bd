// documents: expat's and cJSON's hooks, whose heap is the thread's.
//
// SPDX-License-Identifier: MIT
#include "tarn/hooks/cjson.h"
#include "tarn/hooks/expat.h"

#include <csetjmp>
#include <cstring>
#include <string>

#include "../support/threads.hpp"
#include "hooks.hpp"

namespace {

using hooks::Heap;

std::string xml_of(int elements) {
  std::string text = "<?xml version='1.0'?><root>";
  for (int i = 0; i < elements; ++i) {
    const std::string number = std::to_string(i);
    text += "<element" + number + " name='value " + number + "'>text</element" + number + ">";
  }
  return text + "</root>";
}

void count_element(void* count, const XML_Char*, const XML_Char**) { ++*static_cast<int*>(count); }

TEST(Expat, HasParsersInHeaps) {
  Heap heap;
  const std::string text = xml_of(2000);
  XML_Parser const parser = tarn_expat_create(&heap.heap, nullptr, nullptr);
  ASSERT_NE(parser, nullptr);
  EXPECT_GT(heap.blocks(), 0u);
  EXPECT_EQ(tarn_expat_heap, nullptr) << "only while it was made";
  int elements = 0;
  XML_SetUserData(parser, &elements);
  XML_SetElementHandler(parser, count_element, nullptr);
  const int length = static_cast<int>(text.size());
  for (int at = 0; at < length; at += 1000) {
    const int part = at + 1000 < length ? 1000 : length - at;
    ASSERT_EQ(tarn_expat_parse(parser, &heap.heap, text.data() + at, part, at + part == length),
              XML_STATUS_OK);
  }
  EXPECT_EQ(elements, 2001);
  EXPECT_GT(heap.stats().live_bytes, 20'000u);
  XML_ParserFree(parser);
  EXPECT_EQ(heap.blocks(), 0u);
}

TEST(Expat, EndsWithTheHeap) {
  Heap heap;
  XML_Parser const parser = tarn_expat_create(&heap.heap, nullptr, nullptr);
  ASSERT_NE(parser, nullptr);
  ASSERT_EQ(tarn_expat_parse(parser, &heap.heap, "<a><b>", 6, 0), XML_STATUS_OK);
  heap.end();
}

TEST(Expat, SaysThatThereIsNoMemory) {
  const std::string text = xml_of(3000);
  int refused = 0;
  int served = 0;
  for (std::size_t ceiling = 16'384; ceiling < 8'000'000; ceiling += ceiling / 3) {
    Heap heap(ceiling);
    XML_Parser const parser = tarn_expat_create(&heap.heap, nullptr, nullptr);
    if (parser == nullptr) {
      ++refused;
      continue;
    }
    if (tarn_expat_parse(parser, &heap.heap, text.data(), int(text.size()), 1) == XML_STATUS_OK) {
      ++served;
    } else {
      EXPECT_EQ(XML_GetErrorCode(parser), XML_ERROR_NO_MEMORY);
      ++refused;
    }
    XML_ParserFree(parser);
    EXPECT_EQ(heap.blocks(), 0u);
    EXPECT_LE(heap.stats().committed_bytes_peak, ceiling);
  }
  EXPECT_GT(refused, 2);
  EXPECT_GT(served, 2);
}

// A handler parses something else, in another heap.
struct Nested {
  const Heap* heap;
  int elements;
};
void parse_inside(void* self, const XML_Char*, const XML_Char**) {
  auto* const nested = static_cast<Nested*>(self);
  XML_Parser const parser = tarn_expat_create(&nested->heap->heap, nullptr, nullptr);
  XML_SetUserData(parser, &nested->elements);
  XML_SetElementHandler(parser, count_element, nullptr);
  EXPECT_EQ(tarn_expat_parse(parser, &nested->heap->heap, "<x><y/></x>", 11, 1), XML_STATUS_OK);
  EXPECT_GT(nested->heap->blocks(), 0u);
  XML_ParserFree(parser);
}

TEST(Expat, Nests) {
  Heap outer;
  Heap inner;
  Nested nested{&inner, 0};
  XML_Parser const parser = tarn_expat_create(&outer.heap, nullptr, nullptr);
  XML_SetUserData(parser, &nested);
  XML_SetElementHandler(parser, parse_inside, nullptr);
  const std::string text = "<a><b attribute='1'/><c/></a>";
  ASSERT_EQ(tarn_expat_parse(parser, &outer.heap, text.data(), int(text.size()), 1), XML_STATUS_OK);
  EXPECT_EQ(nested.elements, 6);
  EXPECT_EQ(inner.blocks(), 0u);
  EXPECT_GT(outer.blocks(), 0u);
  XML_ParserFree(parser);
  EXPECT_EQ(outer.blocks(), 0u);
}

// A handler that is left by an exception, or by a jump.
void throw_from(void*, const XML_Char*, const XML_Char**) { throw 7; }
TEST(Expat, ExceptionsEndTheThreadsWord) {
  Heap heap;
  XML_Parser const parser = tarn_expat_create(&heap.heap, nullptr, nullptr);
  XML_SetElementHandler(parser, throw_from, nullptr);
  EXPECT_THROW((void)tarn_expat_parse(parser, &heap.heap, "<a/>", 4, 1), int);
  EXPECT_EQ(tarn_expat_heap, nullptr);
  heap.end();
}

std::jmp_buf away;
void jump_from(void*, const XML_Char*, const XML_Char**) { std::longjmp(away, 1); }
TEST(Expat, JumpersSayTheWordThatWas) {
  Heap outer;
  Heap heap;
  const tarn_heap* const before = tarn_expat_use(&outer.heap);
  XML_Parser const parser = tarn_expat_create(&heap.heap, nullptr, nullptr);
  XML_SetElementHandler(parser, jump_from, nullptr);
  if (setjmp(away) == 0) {
    tarn_expat_parse(parser, &heap.heap, "<a/>", 4, 1);
    FAIL() << "nobody has jumped";
  }
  tarn_expat_use(&outer.heap);
  heap.end();
  XML_Parser const next = XML_ParserCreate_MM(nullptr, tarn_expat_suite(), nullptr);
  EXPECT_GT(outer.blocks(), 0u);
  XML_ParserFree(next);
  tarn_expat_use(before);
}

TEST(Expat, WithoutAHeapUsesTarnMalloc) {
  void* const p = tarn_expat_allocate(100);
  EXPECT_EQ(tarn_heap_of(p).id, tarn_heap_main().id);
  tarn_expat_deallocate(tarn_expat_reallocate(p, 1000));
  XML_Parser const parser = tarn_expat_create(nullptr, nullptr, nullptr);
  ASSERT_NE(parser, nullptr);
  ASSERT_EQ(tarn_expat_parse(parser, nullptr, "<a/>", 4, 1), XML_STATUS_OK);
  XML_ParserFree(parser);
}

class Cjson : public testing::Test {
 protected:
  void SetUp() override { tarn_cjson_install(); }
  void TearDown() override { tarn_cjson_remove(); }
};

std::string json_of(int members) {
  std::string text = "{\"list\": [0";
  for (int i = 1; i < members; ++i) text += ", {\"n\": " + std::to_string(i) + ", \"s\": \"x\"}";
  return text + "]}";
}

TEST_F(Cjson, HasDocumentsInHeaps) {
  Heap heap;
  const tarn_heap* const before = tarn_cjson_use(&heap.heap);
  EXPECT_EQ(before, nullptr);
  cJSON* const document = cJSON_Parse(json_of(1000).c_str());
  ASSERT_NE(document, nullptr);
  EXPECT_TRUE(heap.has(document));
  EXPECT_GE(heap.blocks(), 3000u);
  char* const text = cJSON_PrintUnformatted(document);
  ASSERT_NE(text, nullptr);
  EXPECT_TRUE(heap.has(text));
  EXPECT_EQ(tarn_cjson_use(before), &heap.heap);
  EXPECT_EQ(std::strncmp(text, "{\"list\":[0,{\"n\":1,", 18), 0);
  cJSON_free(text);
  cJSON* const item = cJSON_CreateNumber(3);  // Without a heap.
  EXPECT_EQ(tarn_heap_of(item).id, tarn_heap_main().id);
  cJSON_Delete(item);
  cJSON_Delete(document);
  EXPECT_EQ(heap.blocks(), 0u);
}

TEST_F(Cjson, EndsWithTheHeap) {
  Heap heap;
  tarn_cjson_use(&heap.heap);
  ASSERT_NE(cJSON_Parse(json_of(1000).c_str()), nullptr);
  tarn_cjson_use(nullptr);
  heap.end();  // No cJSON_Delete.
}

TEST_F(Cjson, SaysThatThereIsNoMemory) {
  int refused = 0;
  int served = 0;
  const std::string source = json_of(2000);
  for (std::size_t ceiling = 16'384; ceiling < 4'000'000; ceiling += ceiling / 3) {
    Heap heap(ceiling);
    tarn_cjson_use(&heap.heap);
    cJSON* const document = cJSON_Parse(source.c_str());
    char* const text = document == nullptr ? nullptr : cJSON_Print(document);
    tarn_cjson_use(nullptr);
    ++(text == nullptr ? refused : served);
    cJSON_free(text);
    cJSON_Delete(document);
    EXPECT_EQ(heap.blocks(), 0u);
    EXPECT_LE(heap.stats().committed_bytes_peak, ceiling);
  }
  EXPECT_GT(refused, 2);
  EXPECT_GT(served, 2);
}

TEST_F(Cjson, HeapsAreTheThreads) {
  int failures[3] = {};
  support::each_in_threads(failures, [](int& failed) {
    for (int i = 0; i < 20; ++i) {
      Heap heap;
      tarn_cjson_use(&heap.heap);
      cJSON* const document = cJSON_Parse(json_of(200).c_str());
      tarn_cjson_use(nullptr);
      if (document == nullptr || !heap.has(document)) ++failed;
    }
  });
  for (const int failed : failures) EXPECT_EQ(failed, 0);
}

}  // namespace
