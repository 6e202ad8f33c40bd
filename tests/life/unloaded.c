/* unloaded: a plugin with tarn inside is closed while threads that used it live. They end
 * afterwards, and processes are forked: nothing of the plugin may be called then.
 *
 * Usage: unloaded MODULE. Nothing is preloaded.
 *
 * SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <sys/wait.h>

#include "check.h"

enum { THREADS = 4, ROUNDS = 5 };

static int (*use_blocks)(void);
static pthread_barrier_t have_used;
static pthread_barrier_t is_closed;

static void* body(void* argument) {
  CHECK(use_blocks());
  pthread_barrier_wait(&have_used);
  pthread_barrier_wait(&is_closed);
  return argument;
}

int main(int argc, char** argv) {
  CHECK(argc == 2);
  alarm(60);
  CHECK(pthread_barrier_init(&have_used, NULL, THREADS + 1) == 0);
  CHECK(pthread_barrier_init(&is_closed, NULL, THREADS + 1) == 0);
  for (int round = 0; round < ROUNDS; ++round) {
    void* const plugin = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    if (plugin == NULL) dprintf(STDERR_FILENO, "%s\n", dlerror());
    CHECK(plugin != NULL);
    void* const found = dlsym(plugin, "use_blocks");
    CHECK(found != NULL);
    memcpy(&use_blocks, &found, sizeof found);
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; ++i) CHECK(pthread_create(&threads[i], NULL, body, NULL) == 0);
    CHECK(use_blocks());
    pthread_barrier_wait(&have_used);
    CHECK(dlclose(plugin) == 0);
    if (dlopen(argv[1], RTLD_NOW | RTLD_NOLOAD) != NULL) skip("dlclose unloads nothing here");
    const pid_t child = fork();
    if (child == 0) _exit(7);
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 7);
    pthread_barrier_wait(&is_closed);
    for (int i = 0; i < THREADS; ++i) CHECK(pthread_join(threads[i], NULL) == 0);
  }
  return 0;
}
