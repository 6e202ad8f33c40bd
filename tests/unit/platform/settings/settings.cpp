// TARN_OPTIONS: what is taken, what is refused, and what is said about it.
//
// SPDX-License-Identifier: MIT
#include "platform/settings/settings.hpp"

#include <string>

#include <gtest/gtest.h>

namespace tarn {
namespace {

using testing::internal::CaptureStderr;
using testing::internal::GetCapturedStderr;

struct Outcome {
  std::size_t refused;
  std::string said;
};

Outcome read(Settings& settings, const std::string& text) {
  CaptureStderr();
  const std::size_t refused = settings.read(text.c_str());
  return {refused, GetCapturedStderr()};
}

TEST(Settings, DefaultsAreWithinTheirRanges) {
  const Settings settings;
  for (std::size_t i = 0; i < option_count; ++i) {
    EXPECT_EQ(settings[static_cast<Option>(i)], option_rows[i].fallback);
    EXPECT_GE(option_rows[i].fallback, option_rows[i].min);
    EXPECT_LE(option_rows[i].fallback, option_rows[i].max);
    EXPECT_GT(std::string(option_rows[i].help).size(), 10u);
  }
  EXPECT_STREQ(settings[PathOption::account], "");
}

TEST(Settings, TheModeIsAWord) {
  Settings settings;
  EXPECT_EQ(settings.mode(), Mode::fast);
  for (const auto& [word, mode] : {std::pair("checked", Mode::checked),
                                   {"guarded", Mode::guarded},
                                   {"passthrough", Mode::passthrough},
                                   {"fast", Mode::fast}}) {
    EXPECT_EQ(read(settings, std::string("mode=") + word).refused, 0u);
    EXPECT_EQ(settings.mode(), mode) << word;
  }
}

TEST(Settings, EveryOptionTakesItsWholeRange) {
  for (std::size_t i = 0; i < option_count; ++i) {
    const OptionRow& row = option_rows[i];
    const auto option = static_cast<Option>(i);
    for (const std::uint64_t value : {row.min, row.max}) {
      Settings settings;
      const auto outcome = read(settings, std::string(row.name) + "=" + std::to_string(value));
      EXPECT_EQ(outcome.refused, 0u) << outcome.said;
      EXPECT_EQ(outcome.said, "");
      EXPECT_EQ(settings[option], value);
    }
    Settings settings;
    auto outcome = read(settings, std::string(row.name) + "=" + std::to_string(row.max + 1));
    EXPECT_EQ(outcome.refused, 1u);
    EXPECT_NE(outcome.said.find(std::to_string(row.max)), std::string::npos) << outcome.said;
    EXPECT_EQ(settings[option], row.fallback);
    if (row.min == 0) continue;
    outcome = read(settings, std::string(row.name) + "=" + std::to_string(row.min - 1));
    EXPECT_EQ(outcome.refused, 1u);
    EXPECT_EQ(settings[option], row.fallback);
  }
}

TEST(Settings, SeveralPartsAndEmptyOnes) {
  Settings settings;
  const auto outcome =
      read(settings, ",,mode=fast,purge_delay_ms=7,,account=/a/b c,purge_keep_kib=9,");
  EXPECT_EQ(outcome.refused, 0u) << outcome.said;
  EXPECT_EQ(settings[Option::purge_delay_ms], 7u);
  EXPECT_EQ(settings[Option::purge_keep_kib], 9u);
  EXPECT_STREQ(settings[PathOption::account], "/a/b c");
}

TEST(Settings, TheLastOfTwoCounts) {
  Settings settings;
  EXPECT_EQ(read(settings, "purge_delay_ms=7,purge_delay_ms=8").refused, 0u);
  EXPECT_EQ(settings[Option::purge_delay_ms], 8u);
  EXPECT_EQ(read(settings, "purge_delay_ms=9,purge_delay_ms=x").refused, 1u);
  EXPECT_EQ(settings[Option::purge_delay_ms], 9u);
}

TEST(Settings, BadPartsAreNamedAndTheRestIsUsed) {
  for (const char* bad : {"purge_delay_ms",
                          "purge_delay_ms=",
                          "purge_delay_ms=-1",
                          "purge_delay_ms=1x",
                          "purge_delay_ms= 1",
                          "purge_delay_ms=0x10",
                          "purge_delay_ms=1=2",
                          "purge_delay_ms=18446744073709551616",
                          "Purge_delay_ms=1",
                          "purge_delay_m=1",
                          "purge_delay_mss=1",
                          "=1",
                          "=",
                          "mode",
                          "mode=",
                          "mode=slow",
                          "mode=fast ",
                          "account=",
                          "account",
                          "unknown=1",
                          " "}) {
    Settings settings;
    const auto outcome = read(settings, std::string("purge_keep_kib=3,") + bad + ",mode=fast");
    EXPECT_EQ(outcome.refused, 1u) << bad;
    EXPECT_EQ(outcome.said.rfind("tarn: options: '" + std::string(bad) + "'", 0), 0u)
        << outcome.said;
    EXPECT_EQ(settings[Option::purge_keep_kib], 3u) << bad;
    EXPECT_EQ(settings[Option::purge_delay_ms],
              option_rows[static_cast<std::size_t>(Option::purge_delay_ms)].fallback)
        << bad;
    EXPECT_STREQ(settings[PathOption::account], "");
  }
}

TEST(Settings, AnUnknownKeyIsToldAllTheKnownOnes) {
  Settings settings;
  const auto outcome = read(settings, "colour=red");
  EXPECT_EQ(outcome.refused, 1u);
  for (const OptionRow& row : option_rows) {
    EXPECT_NE(outcome.said.find(row.name), std::string::npos) << outcome.said;
  }
  EXPECT_NE(outcome.said.find("\ntarn: options: known: account=FOLDER, report_file=FILE, "),
            std::string::npos)
      << outcome.said;
  EXPECT_EQ(outcome.said.back(), '\n');
}

TEST(Settings, AFolderThatIsTooLongIsRefused) {
  Settings settings;
  const std::string longest(option_path_bytes_max - 33, 'f');
  EXPECT_EQ(read(settings, "account=" + longest).refused, 0u);
  EXPECT_EQ(settings[PathOption::account], longest);
  EXPECT_EQ(read(settings, "account=" + longest + "g").refused, 1u);
  EXPECT_EQ(settings[PathOption::account], longest);
}

TEST(Settings, TheEnvironmentIsRead) {
  setenv("TARN_OPTIONS", "purge_delay_ms=11", 1);
  Settings settings;
  settings.read_environment();
  unsetenv("TARN_OPTIONS");
  EXPECT_EQ(settings[Option::purge_delay_ms], 11u);
  Settings plain;
  plain.read_environment();
  EXPECT_NE(plain[Option::purge_delay_ms], 11u);
}

}  // namespace
}  // namespace tarn
