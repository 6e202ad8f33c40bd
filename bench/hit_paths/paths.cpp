// paths: as paths.c, in C++: what has another form there, or none in C.
//
// SPDX-License-Identifier: MIT
#include <cstddef>

#include "tarn/arena/arena.hpp"
#include "tarn/pool/array_pool.hpp"
#include "tarn/pool/pool.hpp"
#include "tarn/pool/static_pool.hpp"

namespace {

struct Node {
  Node* next;
  long value;
};

tarn::ArrayPool<1000, sizeof(Node)> array_pool;
tarn::StaticPool<sizeof(Node), 1000> static_pool;

}  // namespace

extern "C" {

void* path_cpp_pool_allocate(tarn::Pool* pool);
Node* path_object_pool_create(tarn::ObjectPool<Node>* pool, Node* next, long value);
void path_object_pool_destroy(tarn::ObjectPool<Node>* pool, Node* node);
Node* path_arena_create(tarn::Arena* arena, Node* next, long value);
void* path_array_pool_allocate();
void path_array_pool_deallocate(void* p);
void* path_static_pool_allocate();
void path_static_pool_deallocate(void* p);

void* path_cpp_pool_allocate(tarn::Pool* pool) { return pool->allocate(); }
Node* path_object_pool_create(tarn::ObjectPool<Node>* pool, Node* next, long value) {
  return pool->create(Node{next, value});
}
void path_object_pool_destroy(tarn::ObjectPool<Node>* pool, Node* node) { pool->destroy(node); }
Node* path_arena_create(tarn::Arena* arena, Node* next, long value) {
  return arena->create<Node>(Node{next, value});
}
void* path_array_pool_allocate() { return array_pool.allocate(); }
void path_array_pool_deallocate(void* p) { array_pool.deallocate(p); }
void* path_static_pool_allocate() { return static_pool.allocate(); }
void path_static_pool_deallocate(void* p) { static_pool.deallocate(p); }
}
