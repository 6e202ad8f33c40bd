// supervised: work in a child of whose system calls the kernel asks the parent (seccomp's user
// notifications), which lets them through, or refuses those that a test wants refused. Nothing in
// the child knows of it, whatever signals it blocks.
//
//   parent                                        child
//   forks, receives the filter's descriptor   <-  installs the filter, sends it, works
//   answers each call: "go on", or an error   <-  a call of `refusable`, while `watching`
//
// SPDX-License-Identifier: MIT
#pragma once

#include <poll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>

#include <atomic>
#include <climits>
#include <csignal>
#include <iterator>

#include "check.h"
#include "filter.h"

namespace supervised {

// The calls by which memory, threads and knowledge of the process are had, and what the kernel says
// when it refuses one.
struct Refusable {
  long number;
  int error;
};
inline constexpr Refusable refusable[] = {
    {SYS_mmap, ENOMEM},    {SYS_munmap, ENOMEM},
    {SYS_mremap, ENOMEM},  {SYS_mprotect, ENOMEM},
    {SYS_madvise, EAGAIN}, {SYS_mincore, EAGAIN},
    {SYS_mlock, EAGAIN},   {SYS_mbind, EPERM},
    {SYS_prctl, EINVAL},   {SYS_membarrier, EPERM},
    {SYS_clone, EAGAIN},   {SYS_clone3, EAGAIN},
    {SYS_openat, EMFILE},  {SYS_read, EIO},
    {SYS_sysinfo, EFAULT}, {SYS_process_vm_readv, EPERM},
};

// In memory that parent and child share.
struct Shared {
  std::atomic<bool> watching;
  std::atomic<long> calls;    // Of the watched ones, so many were made.
  std::atomic<long> refused;  // So many of these were refused.
};

inline Shared& shared() {
  static void* const memory =
      mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  CHECK(memory != MAP_FAILED);
  return *static_cast<Shared*>(memory);
}

// While one lives in the child, its calls are counted, and refused as the parent was told.
class Watched {
 public:
  Watched() { shared().watching.store(true); }
  ~Watched() { shared().watching.store(false); }
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;
};

// The descriptor by which the kernel asks; -1 where there are no such filters.
inline int install_filter() {
  long calls[std::size(refusable)];
  for (std::size_t i = 0; i < std::size(refusable); ++i) calls[i] = refusable[i].number;
  return filter_calls(calls, std::size(calls), SECCOMP_RET_USER_NOTIF,
                      SECCOMP_FILTER_FLAG_NEW_LISTENER);
}

// A byte over a socket, and with it a descriptor, where there is one.
struct Message {
  Message() {
    header.msg_iov = &data;
    header.msg_iovlen = 1;
    header.msg_control = control;
    header.msg_controllen = sizeof control;
  }
  Message(const Message&) = delete;
  Message& operator=(const Message&) = delete;

  char byte = 0;
  iovec data = {&byte, 1};
  msghdr header{};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
};
inline void send_descriptor(int socket, int descriptor) {
  Message message;
  if (descriptor >= 0) {
    cmsghdr* const first = CMSG_FIRSTHDR(&message.header);
    first->cmsg_level = SOL_SOCKET;
    first->cmsg_type = SCM_RIGHTS;
    first->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(first), &descriptor, sizeof descriptor);
  } else {
    message.header.msg_control = nullptr;
    message.header.msg_controllen = 0;
  }
  CHECK(sendmsg(socket, &message.header, 0) == 1);
}
// -1 when there is none.
inline int receive_descriptor(int socket) {
  Message message;
  CHECK(recvmsg(socket, &message.header, MSG_CMSG_CLOEXEC) == 1);
  const cmsghdr* const first = CMSG_FIRSTHDR(&message.header);
  int descriptor = -1;
  if (first != nullptr) memcpy(&descriptor, CMSG_DATA(first), sizeof descriptor);
  return descriptor;
}

// Which calls are refused: that number `first`, counted from 1, or it and all later ones. Those
// made by the code of a file whose path has `passing` in it are let through and not counted.
struct Refusals {
  long first = LONG_MAX;
  bool and_later = false;
  const char* passing = nullptr;
};

// Whether a process's instruction is in a file whose path has the text in it.
inline bool is_in_file(pid_t process, unsigned long long instruction, const char* text) {
  char line[4096];
  (void)snprintf(line, sizeof line, "/proc/%d/maps", static_cast<int>(process));
  FILE* const maps = fopen(line, "re");
  bool is = false;
  while (maps != nullptr && !is && fgets(line, sizeof line, maps) != nullptr) {
    char* end = line;
    const unsigned long long from = strtoull(line, &end, 16);
    const unsigned long long to = strtoull(end + 1, nullptr, 16);
    is = instruction >= from && instruction < to && strstr(line, text) != nullptr;
  }
  if (maps != nullptr) fclose(maps);
  return is;
}

// Likewise; the few places from which calls come are looked up once. Those of the process before
// are to be forgotten first (an instruction 0).
inline bool is_known_in_file(pid_t process, unsigned long long instruction, const char* text) {
  static struct {
    unsigned long long instruction;
    bool is;
  } known[256];
  static std::size_t count = 0;
  if (instruction == 0) count = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (known[i].instruction == instruction) return known[i].is;
  }
  if (count == std::size(known)) count = 0;
  known[count] = {instruction, instruction != 0 && is_in_file(process, instruction, text)};
  return known[count++].is;
}

inline void answer(int listener, const Refusals& refusals) {
  seccomp_notif asked{};
  if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &asked) != 0) return;  // The asker is gone.
  seccomp_notif_resp said{};
  said.id = asked.id;
  said.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
  const bool is_passing = refusals.passing != nullptr &&
                          is_known_in_file(static_cast<pid_t>(asked.pid),
                                           asked.data.instruction_pointer, refusals.passing);
  if (shared().watching.load() && !is_passing) {
    const long number = shared().calls.fetch_add(1) + 1;
    if (refusals.and_later ? number >= refusals.first : number == refusals.first) {
      for (const Refusable& call : refusable) {
        if (call.number == asked.data.nr) said.error = -call.error;
      }
      said.flags = 0;
      shared().refused.fetch_add(1);
    }
  }
  (void)ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &said);
}

inline long now_seconds() {
  timespec now{};
  (void)clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec;
}

// Runs the body in a child; its status as waitpid() has it, or that of SIGKILL if it hangs. A body
// that comes to its end ends with 0.
template <class Body>
int run(const Refusals& refusals, long seconds_at_most, const Body& body) {
  Shared& s = shared();
  s.watching.store(false);
  s.calls.store(0);
  s.refused.store(0);
  (void)is_known_in_file(0, 0, nullptr);
  int sockets[2];
  CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) == 0);
  const pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    const int listener = install_filter();
    send_descriptor(sockets[1], listener);
    if (listener < 0) _exit(77);
    close(listener);
    close(sockets[0]);
    close(sockets[1]);
    body();
    _exit(0);
  }
  close(sockets[1]);
  const int listener = receive_descriptor(sockets[0]);
  close(sockets[0]);
  int status = 0;
  const long until = now_seconds() + seconds_at_most;
  // Hung up when nobody is left whom the filter is about: children of the child count, too.
  for (pollfd waited = {listener, POLLIN, 0}; listener >= 0;) {
    const int ready = poll(&waited, 1, 1000);
    if (now_seconds() > until) {  // It may ask again and again.
      (void)kill(child, SIGKILL);
      s.watching.store(false);
      break;
    }
    if (ready > 0 && (waited.revents & POLLIN) != 0) {
      answer(listener, refusals);
    } else if (ready > 0) {
      break;
    }
  }
  if (listener >= 0) close(listener);
  CHECK(waitpid(child, &status, 0) == child);
  return status;
}

}  // namespace supervised
