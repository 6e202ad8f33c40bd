// record_sizes: see record_sizes.hpp.
// SPDX-License-Identifier: MIT
#include "record_sizes.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>

#include "../sizes/sizes.h"
#include "account_folder.hpp"
#include "descriptor.hpp"
#include "failure.hpp"
#include "library.hpp"
#include "program.hpp"
#include "quantity.hpp"

namespace tarn {

namespace {

std::string find_counter(const std::string& library) {
  std::error_code error;
  const auto beside = std::filesystem::canonical(library, error).parent_path() / "libtarn_sizes.so";
  if (error || !std::filesystem::exists(beside, error)) {
    throw Failure(status_usage,
                  fmt::format("cannot find {}, which counts sizes; build it, or name with "
                              "--library the libtarn.so beside it",
                              beside.string()));
  }
  return check_library(beside.string(), "--library");
}

// The file that the program's processes map and add to. tarn reads it and does not map it, since
// they may truncate it.
class SizeFile {
 public:
  explicit SizeFile(const std::string& path)
      : file_(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600)) {
    // Its blocks are allocated now: if the disk were full later, the program would die of SIGBUS.
    if (file_.is_open()) errno = ::posix_fallocate(file_.number(), 0, sizeof(tarn_sizes));
    if (!file_.is_open() || errno != 0) {
      throw Failure(status_refused, fmt::format("cannot make {}: {}", path, std::strerror(errno)));
    }
  }

  // It stays all zero where the file is too short.
  std::unique_ptr<tarn_sizes> read() const {
    auto sizes = std::make_unique<tarn_sizes>();
    auto* const start = reinterpret_cast<char*>(sizes.get());
    for (std::size_t done = 0; done < sizeof(tarn_sizes);) {
      const ssize_t got = ::pread(file_.number(), start + done, sizeof(tarn_sizes) - done,
                                  static_cast<off_t>(done));
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return std::make_unique<tarn_sizes>();
      done += static_cast<std::size_t>(got);
    }
    return sizes;
  }

 private:
  Descriptor file_;
};

void set_sizes_file(std::vector<std::string>& environment, const std::string& path) {
  constexpr std::string_view name = TARN_SIZES_VARIABLE "=";
  std::erase_if(environment, [&](const std::string& entry) { return entry.starts_with(name); });
  environment.push_back(std::string(name) + path);
}

SizeCounts counts_of(const tarn_sizes& sizes, const std::string& where) {
  std::vector<SizeCount> rows;
  for (std::uint64_t bytes = 0; bytes <= TARN_HEAP_CLASS_BYTES_MAX; ++bytes) {
    if (sizes.requests[bytes] != 0) rows.push_back({bytes, sizes.requests[bytes]});
  }
  SizeCounts counts = sum_up(std::move(rows), where);
  counts.large_requests = sizes.large;
  counts.large_bytes = static_cast<double>(sizes.large_bytes);
  return counts;
}

}  // namespace

SizeRecord record_sizes(const std::vector<std::string>& words, const std::string& library,
                        bool keeps_stdout, Terminal& terminal) {
  const std::string counter = find_counter(library);
  const Inspection inspection = inspect_program(words.front());
  for (const Note& note : inspection.notes) terminal.warn(note.text);
  SizeRecord record;
  const SignalGate gate;
  if (const int signal = gate.pending_end(); signal != 0) {
    record.outcome.end_signal = signal;
    return record;
  }
  const AccountFolder folder;
  const SizeFile file(folder.path() + "/sizes");
  Launch launch;
  launch.words = words;
  if (keeps_stdout) launch.output = STDERR_FILENO;
  launch.environment = current_environment();
  if (inspection.is_preloadable) {
    add_preload(launch.environment, library);
    add_preload(launch.environment, counter);
    set_sizes_file(launch.environment, folder.path() + "/sizes");
  }
  record.outcome = run_child(launch, gate);
  check_started(record.outcome, words.front());
  const std::unique_ptr<tarn_sizes> sizes = file.read();
  record.processes = sizes->magic == TARN_SIZES_MAGIC ? sizes->processes : 0;
  if (record.processes != 0) record.counts = counts_of(*sizes, text_of_name(words.front()));
  gate.drain();
  return record;
}

}  // namespace tarn
