// report: see report.hpp.
//
// SPDX-License-Identifier: MIT
#include "report.hpp"

#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>

namespace lists {

namespace {

constexpr double mebibyte = 1024.0 * 1024.0;

// The report allocates nothing. A large request, such as a stream's buffer, can make a malloc put
// all freed memory in order, which under a memory limit takes longer than the run.
char stream_buffer[4096];

// The memory of the lists, in words.
std::string memory_text(Variant variant) {
  switch (variant) {
    case Variant::heap: return "a tarn heap each";
    case Variant::bump: return "a bump heap each";
    default: return "malloc of " + malloc_name();
  }
}

double mebibytes(std::uint64_t bytes) { return static_cast<double>(bytes) / mebibyte; }

}  // namespace

void print_report(const Options& options, const Outcome& outcome, const ProcessUsage& usage) {
  std::setvbuf(stdout, stream_buffer, _IOFBF, sizeof(stream_buffer));
  std::printf("%d lists, %" PRIu64 " iterations, %s", list_count, options.plan.iterations,
              memory_text(options.variant).c_str());
  if (options.limited_to != 0) {
    std::printf(", memory limited to %.1f MiB (%" PRIu64 " bytes)", mebibytes(options.limited_to),
                options.limited_to);
  }
  std::printf("\n\n  Insertion            %9.3f s\n", outcome.insertion);
  std::printf("  Search               %9.3f s\n", outcome.search);
  std::printf("  Deletion             %9.3f s\n", outcome.deletion);
  std::printf("  Overall application  %9.3f s\n\n", outcome.overall);
  std::printf("  peak RSS             %9.1f MiB\n", mebibytes(usage.peak_rss_bytes));
  std::printf("  page faults          %9" PRIu64 ", and %" PRIu64 " that waited for the disk\n",
              usage.faults_minor, usage.faults_major);
  std::printf("  strings in the end   %9" PRIu64 "\n", outcome.strings_left);
  if (options.plan.checksum) {
    std::printf("  checksum      %016" PRIx64 "\n", outcome.checksum);
  }
  std::fflush(stdout);
}

bool write_json(const Options& options, const Outcome& outcome, const ProcessUsage& usage) {
  std::FILE* const file = std::fopen(options.json_file.c_str(), "w");
  if (file != nullptr) {
    std::setvbuf(file, stream_buffer, _IOFBF, sizeof(stream_buffer));  // stdout is done with it.
    std::fprintf(file,
                 "{\"program\": \"lists\", \"memory\": \"%s\", \"malloc\": \"%s\","
                 " \"lists\": %d,\n"
                 " \"iterations\": %" PRIu64 ", \"seed\": %" PRIu64
                 ", \"memory_limit_bytes\": %" PRIu64 ",\n",
                 name_of(options.variant), malloc_name().c_str(), list_count,
                 options.plan.iterations, options.plan.seed, options.limited_to);
    std::fprintf(file,
                 " \"seconds\": {\"insertion\": %.6f, \"search\": %.6f, \"deletion\": %.6f,"
                 " \"overall\": %.6f},\n",
                 outcome.insertion, outcome.search, outcome.deletion, outcome.overall);
    if (options.plan.checksum) {
      std::fprintf(file, " \"checksum\": \"%016" PRIx64 "\",\n", outcome.checksum);
    }
    std::fprintf(file,
                 " \"peak_rss_bytes\": %" PRIu64 ", \"faults_minor\": %" PRIu64
                 ", \"faults_major\": %" PRIu64 ", \"strings_left\": %" PRIu64 "}\n",
                 usage.peak_rss_bytes, usage.faults_minor, usage.faults_major,
                 outcome.strings_left);
    if (std::fclose(file) == 0) return true;
  }
  std::fprintf(stderr, "lists: cannot write %s: %s; give --json a file in a writable folder\n",
               options.json_file.c_str(), std::strerror(errno));
  return false;
}

}  // namespace lists
