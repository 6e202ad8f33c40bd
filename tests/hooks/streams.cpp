// streams: zlib's and Lua's hooks, which have a context.
//
// SPDX-License-Identifier: MIT
#include "tarn/hooks/lua.h"
#include "tarn/hooks/zlib.h"

#include <string>

#include "../support/threads.hpp"
#include "hooks.hpp"

namespace {

using hooks::Heap;

std::string text_of(std::size_t bytes) {
  std::string text;
  for (unsigned i = 0; text.size() < bytes; ++i) text += std::to_string(i * 7919u) + ", ";
  text.resize(bytes);
  return text;
}

// Compresses and expands with streams in a heap; the result of the first call that fails.
int round_trip(const tarn_heap* heap, const std::string& text, std::string* back) {
  std::string packed(text.size() + 1000, 0);
  z_stream out{};
  tarn_zlib_use(&out, heap);
  int result = deflateInit(&out, 9);
  if (result != Z_OK) return result;
  out.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  out.avail_in = static_cast<uInt>(text.size());
  out.next_out = reinterpret_cast<Bytef*>(packed.data());
  out.avail_out = static_cast<uInt>(packed.size());
  result = deflate(&out, Z_FINISH);
  packed.resize(out.total_out);
  deflateEnd(&out);
  if (result != Z_STREAM_END) return result;
  z_stream in{};
  tarn_zlib_use(&in, heap);
  result = inflateInit(&in);
  if (result != Z_OK) return result;
  back->assign(text.size(), 0);
  in.next_in = reinterpret_cast<Bytef*>(packed.data());
  in.avail_in = static_cast<uInt>(packed.size());
  in.next_out = reinterpret_cast<Bytef*>(back->data());
  in.avail_out = static_cast<uInt>(back->size());
  result = inflate(&in, Z_FINISH);
  inflateEnd(&in);
  return result == Z_STREAM_END ? Z_OK : result;
}

TEST(Zlib, HasStreamsInAHeap) {
  Heap heap;
  const std::string text = text_of(300'000);
  std::string back;
  EXPECT_EQ(round_trip(&heap.heap, text, &back), Z_OK);
  EXPECT_EQ(back, text);
  EXPECT_EQ(heap.blocks(), 0u);
  EXPECT_GT(heap.stats().committed_bytes_peak, 200'000u) << "it was there";
}

TEST(Zlib, EndsWithTheHeap) {
  Heap heap;
  z_stream stream{};
  tarn_zlib_use(&stream, &heap.heap);
  ASSERT_EQ(deflateInit(&stream, 6), Z_OK);
  EXPECT_GE(heap.blocks(), 4u);
  EXPECT_TRUE(heap.has(stream.state));
  heap.end();  // No deflateEnd; sanitizers see no leak.
}

TEST(Zlib, SaysThatThereIsNoMemory) {
  const std::string text = text_of(100'000);
  std::string back;
  int refused = 0;
  int served = 0;
  for (std::size_t ceiling = 16'384; ceiling < 2'000'000; ceiling += ceiling / 4) {
    Heap heap(ceiling);
    const int result = round_trip(&heap.heap, text, &back);
    ++(result == Z_OK ? served : refused);
    EXPECT_TRUE(result == Z_OK || result == Z_MEM_ERROR) << result;
    EXPECT_EQ(heap.blocks(), 0u);
    EXPECT_LE(heap.stats().committed_bytes_peak, ceiling);
  }
  EXPECT_GT(refused, 2);
  EXPECT_GT(served, 2);
}

TEST(Zlib, ServesThreads) {
  Heap heap;
  const std::string text = text_of(100'000);
  int results[3] = {1, 1, 1};
  support::each_in_threads(results, [&](int& result) {
    std::string back;
    for (int i = 0; i < 5; ++i) result = round_trip(&heap.heap, text, &back);
  });
  for (const int result : results) EXPECT_EQ(result, Z_OK);
  EXPECT_EQ(heap.blocks(), 0u);
}

const char* const fibonacci =
    "local t = {}\n"
    "for i = 1, 2000 do t[i] = string.rep('x', i % 50) .. i end\n"
    "local function f(n) if n < 2 then return n end return f(n - 1) + f(n - 2) end\n"
    "return f(15) + #table.concat(t)";

TEST(Lua, HasStatesInAHeap) {
  Heap heap;
  lua_State* const state = tarn_lua_open(&heap.heap);
  ASSERT_NE(state, nullptr);
  luaL_openlibs(state);
  ASSERT_EQ(luaL_dostring(state, fibonacci), 0) << lua_tostring(state, -1);
  EXPECT_EQ(lua_tointeger(state, -1), 610 + 49'000 + 6'893);
  lua_newtable(state);
  EXPECT_TRUE(heap.has(lua_topointer(state, -1)));
  // What Lua has counted is what was asked for; blocks are a little larger.
  const auto counted = static_cast<std::uint64_t>(lua_gc(state, LUA_GCCOUNT, 0)) * 1024;
  EXPECT_GE(heap.stats().live_bytes, counted);
  EXPECT_LE(heap.stats().live_bytes, counted + counted / 3);
  lua_close(state);
  EXPECT_EQ(heap.blocks(), 0u);
}

TEST(Lua, StopsAtTheCeiling) {
  Heap heap(1 << 20);
  lua_State* const state = tarn_lua_open(&heap.heap);
  ASSERT_NE(state, nullptr);
  luaL_openlibs(state);
  ASSERT_EQ(luaL_loadstring(state, "local t = {} while true do t[#t + 1] = {} end"), LUA_OK);
  EXPECT_EQ(lua_pcall(state, 0, 0, 0), LUA_ERRMEM);
  EXPECT_STREQ(lua_tostring(state, -1), "not enough memory");
  lua_pop(state, 1);
  EXPECT_LE(heap.stats().committed_bytes_peak, 1u << 20);
  EXPECT_EQ(luaL_dostring(state, "return 1"), 0) << "it goes on";
  lua_close(state);
  EXPECT_EQ(heap.blocks(), 0u);
}

TEST(Lua, OpensOrSaysNo) {
  int refused = 0;
  for (std::size_t ceiling = 8192; ceiling < 1'000'000; ceiling += ceiling / 4) {
    Heap heap(ceiling);
    lua_State* const state = tarn_lua_open(&heap.heap);
    if (state == nullptr) {
      ++refused;
      EXPECT_EQ(heap.blocks(), 0u) << ceiling;
      continue;
    }
    const int result = luaL_dostring(state, "return ('x'):rep(100000)") ? LUA_ERRRUN : LUA_OK;
    EXPECT_TRUE(result == LUA_OK || lua_type(state, -1) == LUA_TSTRING);
    lua_close(state);
    EXPECT_EQ(heap.blocks(), 0u) << ceiling;
  }
  EXPECT_GT(refused, 0);
}

// note() in Lua adds one to *count.
void give_note(lua_State* state, int* count) {
  lua_pushlightuserdata(state, count);
  lua_pushcclosure(
      state,
      [](lua_State* inside) {
        ++*static_cast<int*>(lua_touserdata(inside, lua_upvalueindex(1)));
        return 0;
      },
      1);
  lua_setglobal(state, "note");
}

TEST(Lua, EndsAtOnceWithFinalizers) {
  tarn_heap_options options = TARN_HEAP_OPTIONS();
  options.mode = TARN_MODE_CHECKED;
  tarn_heap heap = tarn_heap_create(&options);
  lua_State* const state = tarn_lua_open(&heap);
  ASSERT_NE(state, nullptr);
  luaL_openlibs(state);
  int ended = 0;
  give_note(state, &ended);
  ASSERT_EQ(luaL_dostring(state,
                          "t = {} for i = 1, 100 do t[i] = setmetatable({}, {__gc = function()"
                          " local s = ('y'):rep(1000) note(s) end}) end"),
            0);
  EXPECT_EQ(tarn_lua_close(state, &heap), 0);
  EXPECT_EQ(ended, 100);
  EXPECT_EQ(heap.id, 0u);
  EXPECT_EQ(tarn_lua_close(nullptr, &heap), 0);
}

// Finalizers have the memory that lua_close would let them have.
TEST(Lua, FinalizersRunAtTheCeiling) {
  Heap heap(1 << 20);
  lua_State* const state = tarn_lua_open(&heap.heap);
  ASSERT_NE(state, nullptr);
  luaL_openlibs(state);
  int ended = 0;
  give_note(state, &ended);
  ASSERT_EQ(luaL_dostring(state,
                          "t = {} for i = 1, 50 do t[i] = setmetatable({}, {__gc = function()"
                          " for j = 1, 20 do local s = ('y'):rep(20000 + j) end note() end}) end"),
            0);
  EXPECT_EQ(tarn_lua_close(state, &heap.heap), 0);
  EXPECT_EQ(ended, 50);
  heap.heap = Heap::made(0);
}

}  // namespace
