/* script: runs a Lua script in 2 MiB: the one given, or two of its own, of which one fits and one
 * does not.
 *
 * SPDX-License-Identifier: MIT */
#include <tarn/hooks/lua.h>

#include "held.h"

static const char small[] =
    "local words = {}\n"
    "for i = 1, 5000 do words[i] = 'word ' .. i end\n"
    "print(#words .. ' words')\n"
    "kept = words";
static const char large[] = "local s = 'x' while true do s = s .. s end";

static int run(const char* text) {
  tarn_heap heap = heap_of("lua", 2 << 20);
  lua_State* const state = tarn_lua_open(&heap);
  if (state == NULL) return 1;
  luaL_openlibs(state);
  int result = luaL_loadstring(state, text);
  if (result == LUA_OK) result = lua_pcall(state, 0, 0, 0);
  if (result != LUA_OK) printf("stopped: %s\n", lua_tostring(state, -1));
  print_held(heap, "at the end of the script");
  tarn_lua_close(state, &heap); /* All at once. */
  return result == LUA_OK || result == LUA_ERRMEM ? 0 : 1;
}

int main(int argc, char** argv) {
  if (argc > 1) return run(argv[1]);
  return run(small) + run(large);
}
