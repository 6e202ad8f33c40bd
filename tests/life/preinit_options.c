/* preinit_options: the first allocation comes from a pre-initialiser of the program, when the C
 * library may not know the environment yet; TARN_OPTIONS has its effect nevertheless.
 *
 * It is run with TARN_OPTIONS=account=DIR; that there is an account shows that it was read.
 *
 * SPDX-License-Identifier: MIT */
#include <tarn/diagnose/account.h>

#include "check.h"

static void* early_small;
static void* early_large;

static void pre_initialise(int argc, char** argv, char** environment) {
  (void)argc;
  (void)argv;
  (void)environment;
  early_small = malloc(10);
  early_large = malloc(300000);
}
__attribute__((section(".preinit_array"),
               used)) static void (*pre_initialiser)(int, char**, char**) = pre_initialise;

int main(void) {
  begin(30);
  CHECK(early_small != NULL && early_large != NULL);
  const char* options = getenv("TARN_OPTIONS");
  CHECK(options != NULL && strncmp(options, "account=", 8) == 0);
  char path[4200];
  snprintf(path, sizeof path, "%s/%d", options + 8, (int)getpid());
  free(malloc(1000));
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  CHECK(file >= 0);
  tarn_account account;
  CHECK(read(file, &account, sizeof account) == (ssize_t)sizeof account);
  close(file);
  CHECK(unlink(path) == 0);
  CHECK(account.magic == TARN_ACCOUNT_MAGIC && account.pid == (uint64_t)getpid());
  CHECK(account.state == TARN_ACCOUNT_RUNNING);
  CHECK(account.large_live_blocks == 1 && account.large_live_bytes >= 300000);
  free(early_small);
  free(early_large);
  return 0;
}
