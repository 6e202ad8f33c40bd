// file_source on a device that is full: no chunk, ENOSPC, and nothing else has changed.
//
// SPDX-License-Identifier: MIT
#include "tarn/source/file_source.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

#include "platform/os/fake/fake.hpp"

namespace tarn {
namespace {

class FullDevice : public testing::Test {
 protected:
  FullDevice() : file_(memfd_create("full", 0)) {
    options_.bytes = sizeof options_;
    options_.descriptor = file_;
    options_.flags = TARN_FILE_DESCRIPTOR | TARN_FILE_CREATE;
  }
  ~FullDevice() override {
    os::fake::limit_file_bytes(0);
    os::fake::fail_at(0, false);
    close(file_);
  }

  int file_;
  tarn_file_source_options options_{};
  tarn_file_source source_{};
};

TEST_F(FullDevice, NothingFitsAtFirst) {
  os::fake::limit_file_bytes(1000);
  EXPECT_EQ(tarn_file_source_init(&source_, &options_), -1);
  EXPECT_EQ(errno, ENOSPC);
  EXPECT_STREQ(source_.why, "the storage is full");
  os::fake::limit_file_bytes(0);
  EXPECT_EQ(tarn_file_source_init(&source_, &options_), 0);
  tarn_file_source_destroy(&source_);
}

TEST_F(FullDevice, FillsUpAndGoesOn) {
  ASSERT_EQ(tarn_file_source_init(&source_, &options_), 0);
  os::fake::limit_file_bytes(90'000);  // Not where growth by quarters comes to.
  std::vector<tarn_chunk> chunks;
  for (;;) {
    const tarn_chunk chunk = tarn_file_source_acquire(&source_, 1000, 16);
    if (chunk.data == nullptr) break;
    std::memset(chunk.data, 1, chunk.bytes);
    chunks.push_back(chunk);
  }
  EXPECT_EQ(errno, ENOSPC);
  EXPECT_GE(chunks.size(), 84u) << "21 pages, by single ones at the end";
  EXPECT_EQ(tarn_file_source_check(&source_), 1);
  tarn_file_source_release(&source_, chunks.back());
  EXPECT_EQ(tarn_file_source_acquire(&source_, 1000, 16).data, chunks.back().data);
  os::fake::limit_file_bytes(0);
  EXPECT_NE(tarn_file_source_acquire(&source_, 100'000, 16).data, nullptr);
  EXPECT_EQ(tarn_file_source_check(&source_), 1);
  tarn_file_source_destroy(&source_);
}

// A private source grows by memory, which may be refused.
TEST_F(FullDevice, APrivateOneWithoutMemory) {
  ASSERT_EQ(tarn_file_source_init(&source_, &options_), 0);
  tarn_file_source_destroy(&source_);
  options_.flags = TARN_FILE_DESCRIPTOR | TARN_FILE_PRIVATE;
  ASSERT_EQ(tarn_file_source_init(&source_, &options_), 0);
  os::fake::fail_at(1, true);
  EXPECT_EQ(tarn_file_source_acquire(&source_, 10'000, 16).data, nullptr);
  EXPECT_EQ(errno, ENOMEM);
  os::fake::fail_at(0, false);
  const tarn_chunk chunk = tarn_file_source_acquire(&source_, 10'000, 16);
  ASSERT_NE(chunk.data, nullptr);
  std::memset(chunk.data, 1, chunk.bytes);
  EXPECT_EQ(tarn_file_source_check(&source_), 1);
  tarn_file_source_destroy(&source_);
}

}  // namespace
}  // namespace tarn
