// main: converts texts into HTML, each in a tree of its own. Threads read and transform; the first
// one writes, in the order of the command line, and disposes of each document as a whole.
//
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "document.hpp"
#include "tarn/tree/tree_report.hpp"

namespace documents {

namespace {

struct Job {
  std::string path;
  std::optional<Document> document;  // Empty when there is a problem.
  std::string problem;
  bool is_done = false;
};

struct Options {
  Choices choices;
  std::string folder;  // Empty: to standard output.
  bool reports = false;
  unsigned threads = 0;
  std::vector<std::string> paths;
};

// The name without folders and with .html instead of .md.
std::string output_name(const std::string& path) {
  std::string name = path.substr(path.rfind('/') + 1);
  if (name.size() > 3 && name.compare(name.size() - 3, 3, ".md") == 0) name.resize(name.size() - 3);
  return name + ".html";
}

class Conversion {
 public:
  explicit Conversion(const Options& options) : options_(options), jobs_(options.paths.size()) {
    for (std::size_t i = 0; i < jobs_.size(); ++i) jobs_[i].path = options.paths[i];
  }

  bool run() {
    std::vector<std::thread> threads;
    try {
      while (threads.size() < options_.threads) threads.emplace_back([this] { convert_some(); });
    } catch (const std::system_error&) {  // The threads there are do it, or this one alone.
    }
    bool done = true;
    for (std::size_t i = 0; i < jobs_.size(); ++i) {
      if (threads.empty()) {
        convert(jobs_[i]);
      } else {
        wait_for(i);
        if (jobs_[i].document) tarn::tree::take_over(jobs_[i].document->tree.root());
      }
      if (!write(jobs_[i])) done = false;
    }
    for (std::thread& thread : threads) thread.join();
    if (std::fflush(stdout) != 0) {
      std::cerr << "documents: standard output: " << std::strerror(errno) << '\n';
      done = false;
    }
    return done;
  }

 private:
  void convert(Job& job) const {
    try {
      Document document = read(job.path);
      transform(document, options_.choices);
      job.document.emplace(std::move(document));
    } catch (const Problem& problem) {
      job.problem = problem.what();
    } catch (const std::bad_alloc&) {
      job.problem = job.path + ": out of memory";
    }
  }

  // A thread's trees are its own until the writer sees is_done under the lock; then they are the
  // writer's. A thread is never more than a few documents ahead of the writer.
  void convert_some() {
    std::unique_lock lock(mutex_);
    while (next_ < jobs_.size()) {
      if (next_ >= written_ + 4 * std::size_t{options_.threads}) {
        changed_.wait(lock);
        continue;
      }
      Job& job = jobs_[next_++];
      lock.unlock();
      convert(job);
      if (job.document) tarn::tree::hand_over(job.document->tree.root());
      lock.lock();
      job.is_done = true;
      changed_.notify_all();
    }
  }

  void wait_for(std::size_t i) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return jobs_[i].is_done; });
    written_ = i + 1;
    changed_.notify_all();
  }

  // The file has another name until it is complete.
  bool write_file(const std::string& html, const std::string& path) const {
    const std::string partial = path + ".partial";
    std::FILE* const file = std::fopen(partial.c_str(), "wb");
    if (file == nullptr) return false;
    bool done = std::fwrite(html.data(), 1, html.size(), file) == html.size();
    if (std::fclose(file) != 0) done = false;
    if (done) done = std::rename(partial.c_str(), path.c_str()) == 0;
    if (!done) std::remove(partial.c_str());
    return done;
  }

  bool write(Job& job) const {
    if (!job.document) {
      std::cerr << "documents: " << job.problem << '\n';
      return false;
    }
    const std::string html = html_of(*job.document);
    const bool done = options_.folder.empty()
                          ? std::fwrite(html.data(), 1, html.size(), stdout) == html.size()
                          : write_file(html, options_.folder + "/" + output_name(job.path));
    if (!done) {
      std::cerr << "documents: " << job.path << ": cannot be written: " << std::strerror(errno)
                << '\n';
    }
    if (options_.reports) {
      tarn::tree::ReportOptions named;
      named.alike_min = 1;
      tarn::tree::report(std::cerr, job.document->tree.root(), named);
    }
    job.document.reset();
    return done;
  }

  const Options& options_;
  std::vector<Job> jobs_;
  std::size_t next_ = 0;     // The next document for a thread to take.
  std::size_t written_ = 0;  // The next document to write.
  std::mutex mutex_;
  std::condition_variable changed_;
};

struct Usage : std::runtime_error {
  using std::runtime_error::runtime_error;
};

unsigned threads_in(const char* word) {
  char* end = nullptr;
  const long threads = std::strtol(word, &end, 10);
  if (*end != '\0' || threads < 0 || threads > 64) throw Usage("no number of threads");
  return static_cast<unsigned>(threads);
}

Options options_in(int count, char** words) {
  Options options;
  int i = 1;
  for (; i < count && words[i][0] == '-'; ++i) {
    const std::string_view word = words[i];
    if (word == "--comments") {
      options.choices.keeps_comments = true;
    } else if (word == "--report") {
      options.reports = true;
    } else if (i + 1 == count) {
      throw Usage("an option without its value");
    } else if (word == "--output") {
      options.folder = words[++i];
    } else if (word == "--without") {
      options.choices.without = words[++i];
    } else if (word == "--threads") {
      options.threads = threads_in(words[++i]);
    } else {
      throw Usage("an option that there is not");
    }
  }
  if (i == count) throw Usage("no files");
  options.paths.assign(words + i, words + count);
  std::vector<std::string> names;
  for (const std::string& path : options.paths) names.push_back(output_name(path));
  std::sort(names.begin(), names.end());
  const bool are_twins = std::adjacent_find(names.begin(), names.end()) != names.end();
  if (are_twins && !options.folder.empty()) {
    throw Usage("two files of one name");
  }
  return options;
}

}  // namespace

}  // namespace documents

int main(int count, char** words) {
  try {
    const documents::Options options = documents::options_in(count, words);
    return documents::Conversion(options).run() ? 0 : 1;
  } catch (const documents::Usage& usage) {
    std::fprintf(stderr,
                 "documents: %s\n"
                 "usage: documents [--output FOLDER] [--without TITLE] [--comments] [--report]\n"
                 "                 [--threads 0-64] FILE...\n",
                 usage.what());
    return 2;
  }
}
