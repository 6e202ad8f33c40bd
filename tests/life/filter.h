/* filter: has the kernel refuse system calls of this process from here on (seccomp).
 *
 * SPDX-License-Identifier: MIT */
#ifndef TARN_TESTS_LIFE_FILTER_H
#define TARN_TESTS_LIFE_FILTER_H

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "check.h"

#if defined(__x86_64__)
#define FILTER_ARCH AUDIT_ARCH_X86_64
#else
#define FILTER_ARCH AUDIT_ARCH_AARCH64
#endif

enum { FILTERED_MOST = 32 };

/* Has the kernel take an action (SECCOMP_RET_...) at each of the calls. What seccomp(2) gives: with
 * `flags` for it, a descriptor; -1 where there are no such filters. */
static inline int filter_calls(const long* calls, size_t count, unsigned action, unsigned flags) {
  const struct sock_filter load_arch =
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch));
  const struct sock_filter is_arch = BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, FILTER_ARCH, 1, 0);
  const struct sock_filter load_number =
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
  const struct sock_filter act = BPF_STMT(BPF_RET | BPF_K, action);
  const struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  struct sock_filter filter[2 * FILTERED_MOST + 5] = {load_arch, is_arch, allow, load_number};
  unsigned short length = 4;
  CHECK(count <= FILTERED_MOST);
  for (size_t i = 0; i < count; ++i) {
    const struct sock_filter is_call =
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)calls[i], 0, 1);
    filter[length++] = is_call;
    filter[length++] = act;
  }
  filter[length++] = allow;
  const struct sock_fprog program = {length, filter};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return -1;
  return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
}

static inline void refuse(const long* calls, size_t count, int error) {
  const unsigned action = SECCOMP_RET_ERRNO | ((unsigned)error & SECCOMP_RET_DATA);
  if (filter_calls(calls, count, action, 0) != 0) skip("this kernel has no seccomp filters");
}

#endif
