// frame_rule: see frame_rule.hpp.
//
// SPDX-License-Identifier: MIT
#include "platform/stack/frame_rule.hpp"

#include <array>
#include <cstring>

#include "platform/base/config.hpp"
#include "platform/os/code.hpp"

namespace tarn {

namespace {

// How a pointer is written (DW_EH_PE_).
constexpr unsigned form_mask = 0x0f;
constexpr unsigned form_address = 0x00;
constexpr unsigned form_sdata4 = 0x0b;
constexpr unsigned form_udata4 = 0x03;
constexpr unsigned form_sdata8 = 0x0c;
constexpr unsigned form_udata8 = 0x04;
constexpr unsigned relation_mask = 0x70;
constexpr unsigned from_its_place = 0x10;
constexpr unsigned from_the_table = 0x30;
constexpr unsigned omitted = 0xff;

// DWARF's numbers of registers.
constexpr std::uint64_t register_fp = 6;
constexpr std::uint64_t register_sp = 7;
constexpr std::uint64_t register_return = 16;

// Reads what lies from one place to another; what would lie behind the end is 0, and said.
class Reader {
 public:
  Reader(const std::byte* from, const std::byte* to) noexcept : at_(from), to_(to) {}

  bool at_end() const noexcept { return at_ >= to_ || has_failed_; }
  bool has_failed() const noexcept { return has_failed_; }
  const std::byte* at() const noexcept { return at_; }

  template <class T>
  T read() noexcept {
    T value{};
    if (!has(sizeof value)) return value;
    memcpy(&value, at_, sizeof value);
    at_ += sizeof value;
    return value;
  }
  void skip(std::uint64_t bytes) noexcept {
    if (has(bytes)) at_ += bytes;
  }
  std::uint64_t unsigned_leb() noexcept { return leb(false); }
  std::int64_t signed_leb() noexcept { return static_cast<std::int64_t>(leb(true)); }

  // A pointer as it is written, and what it is counted from.
  std::uintptr_t pointer(unsigned form, const std::byte* table) noexcept {
    const auto place = reinterpret_cast<std::uintptr_t>(at_);
    std::uintptr_t value = 0;
    switch (form & form_mask) {
      case form_address:
      case form_sdata8:
      case form_udata8: value = static_cast<std::uintptr_t>(read<std::uint64_t>()); break;
      case form_udata4: value = read<std::uint32_t>(); break;
      case form_sdata4:
        value = static_cast<std::uintptr_t>(std::int64_t{read<std::int32_t>()});
        break;
      default: has_failed_ = true; return 0;
    }
    switch (form & relation_mask) {
      case 0: return value;
      case from_its_place: return value + place;
      case from_the_table: return value + reinterpret_cast<std::uintptr_t>(table);
      default: has_failed_ = true; return 0;
    }
  }

 private:
  bool has(std::uint64_t bytes) noexcept {
    if (static_cast<std::uint64_t>(to_ - at_) < bytes) has_failed_ = true;
    return !has_failed_;
  }
  std::uint64_t leb(bool is_signed) noexcept {
    std::uint64_t value = 0;
    unsigned shift = 0;
    std::uint8_t byte = 0;
    do {
      byte = read<std::uint8_t>();
      if (shift < 64) value |= std::uint64_t{byte & 0x7fU} << shift;
      shift += 7;
    } while ((byte & 0x80) != 0 && !has_failed_);
    if (is_signed && shift < 64 && (byte & 0x40) != 0) value |= ~std::uint64_t{0} << shift;
    return value;
  }

  const std::byte* at_;
  const std::byte* to_;
  bool has_failed_ = false;
};

// What an entry of .eh_frame begins with. Reads to the end of its length.
Reader entry_at(const std::byte* start) noexcept {
  std::uint32_t length = 0;
  memcpy(&length, start, sizeof length);
  constexpr std::uint32_t is_long = 0xffffffff;  // Nobody writes those.
  if (length == is_long) length = 0;
  return {start + sizeof length, start + sizeof length + length};
}

// What the functions of an object file have in common (a CIE).
struct Common {
  std::uint64_t code_factor = 1;
  std::int64_t data_factor = 1;
  unsigned pointer_form = form_address;
  bool has_sizes = false;  // Of what is added for languages.
  bool is_signal = false;
  bool is_known = false;
  Reader program{nullptr, nullptr};
};

Common read_common(const std::byte* start) noexcept {
  Common common;
  Reader in = entry_at(start);
  const bool is_common = in.read<std::uint32_t>() == 0;
  const auto version = in.read<std::uint8_t>();
  if (!is_common || (version != 1 && version != 3)) return common;
  char letters[8] = {};
  std::size_t count = 0;
  for (char letter = in.read<char>(); letter != '\0'; letter = in.read<char>()) {
    if (count == sizeof letters - 1 || in.has_failed()) return common;
    letters[count++] = letter;
  }
  common.code_factor = in.unsigned_leb();
  common.data_factor = in.signed_leb();
  const std::uint64_t returns = version == 1 ? in.read<std::uint8_t>() : in.unsigned_leb();
  if (returns != register_return) return common;
  const std::byte* program = nullptr;
  for (const char* letter = letters; *letter != '\0'; ++letter) {
    switch (*letter) {
      case 'z': {
        const std::uint64_t bytes = in.unsigned_leb();
        Reader behind = in;
        behind.skip(bytes);
        program = behind.at();
        common.has_sizes = true;
        break;
      }
      case 'R': common.pointer_form = in.read<std::uint8_t>(); break;
      case 'P': in.pointer(in.read<std::uint8_t>() & form_mask, nullptr); break;
      case 'L': in.read<std::uint8_t>(); break;
      case 'S': common.is_signal = true; break;
      default: return common;
    }
  }
  if (program != nullptr) in.skip(static_cast<std::uint64_t>(program - in.at()));
  common.program = in;
  common.is_known = !in.has_failed();
  return common;
}

// Where the registers of the caller are, at one place of a function.
struct Row {
  enum class Cfa : std::uint8_t { unknown, of_sp, of_fp };
  Cfa cfa = Cfa::unknown;
  std::int64_t offset = 0;
  enum class Saved : std::uint8_t { no, at_offset, elsewhere };
  Saved fp = Saved::no;
  std::int64_t fp_offset = 0;
  bool is_outermost = false;   // The return address is undefined.
  bool returns_below = false;  // It lies right below the CFA, as a call leaves it.
};

// Runs the program of rows up to the code.
class Rows {
 public:
  Rows(const Common& common, std::uintptr_t from, std::uintptr_t code) noexcept
      : common_(common), location_(from), code_(code) {}

  // False when there is something that nobody knows.
  bool run(Reader program) noexcept {
    while (!program.at_end() && location_ <= code_) {
      if (!step(program)) return false;
    }
    return !program.has_failed();
  }
  // What is so far is that of the CIE.
  void begin() noexcept { initial_ = row_; }
  const Row& row() const noexcept { return row_; }

 private:
  void advance(std::uint64_t units) noexcept { location_ += units * common_.code_factor; }

  void save(std::uint64_t reg, std::int64_t offset) noexcept {
    if (reg == register_fp) {
      row_.fp = Row::Saved::at_offset;
      row_.fp_offset = offset;
    } else if (reg == register_return) {
      row_.returns_below = offset == -8;
      row_.is_outermost = false;
    }
  }
  void save_elsewhere(std::uint64_t reg) noexcept {
    if (reg == register_fp) row_.fp = Row::Saved::elsewhere;
    if (reg == register_return) row_.returns_below = false;
  }
  void keep(std::uint64_t reg) noexcept {
    if (reg == register_fp) row_.fp = Row::Saved::no;
    if (reg == register_return) row_.returns_below = false;
  }
  void restore(std::uint64_t reg) noexcept {
    if (reg == register_fp) {
      row_.fp = initial_.fp;
      row_.fp_offset = initial_.fp_offset;
    } else if (reg == register_return) {
      row_.returns_below = initial_.returns_below;
      row_.is_outermost = initial_.is_outermost;
    }
  }
  void define(std::uint64_t reg) noexcept {
    row_.cfa = reg == register_sp   ? Row::Cfa::of_sp
               : reg == register_fp ? Row::Cfa::of_fp
                                    : Row::Cfa::unknown;
  }
  std::int64_t factored(std::uint64_t value) const noexcept {
    return static_cast<std::int64_t>(value) * common_.data_factor;
  }

  bool step(Reader& in) noexcept {
    const auto code = in.read<std::uint8_t>();
    const std::uint64_t low = code & 0x3fU;
    switch (code & 0xc0U) {
      case 0x40: advance(low); return true;
      case 0x80: save(low, factored(in.unsigned_leb())); return true;
      case 0xc0: restore(low); return true;
      default: return step_long(code, in);
    }
  }

  bool step_long(std::uint8_t code, Reader& in) noexcept {
    std::uint64_t reg = 0;
    switch (code) {
      case 0x00: return true;  // nop
      case 0x01: location_ = in.pointer(common_.pointer_form, nullptr); return true;
      case 0x02: advance(in.read<std::uint8_t>()); return true;
      case 0x03: advance(in.read<std::uint16_t>()); return true;
      case 0x04: advance(in.read<std::uint32_t>()); return true;
      case 0x05:  // offset_extended
        reg = in.unsigned_leb();
        save(reg, factored(in.unsigned_leb()));
        return true;
      case 0x11:  // offset_extended_sf
        reg = in.unsigned_leb();
        save(reg, in.signed_leb() * common_.data_factor);
        return true;
      case 0x06: restore(in.unsigned_leb()); return true;
      case 0x07:  // undefined
        reg = in.unsigned_leb();
        save_elsewhere(reg);
        if (reg == register_return) row_.is_outermost = true;
        return true;
      case 0x08: keep(in.unsigned_leb()); return true;  // same_value
      case 0x09:                                        // register
        save_elsewhere(in.unsigned_leb());
        in.unsigned_leb();
        return true;
      case 0x0a:  // remember_state
        if (depth_ == kept_.size()) return false;
        kept_[depth_++] = row_;
        return true;
      case 0x0b:  // restore_state
        if (depth_ == 0) return false;
        row_ = kept_[--depth_];
        return true;
      case 0x0c:  // def_cfa
        define(in.unsigned_leb());
        row_.offset = static_cast<std::int64_t>(in.unsigned_leb());
        return true;
      case 0x12:  // def_cfa_sf
        define(in.unsigned_leb());
        row_.offset = in.signed_leb() * common_.data_factor;
        return true;
      case 0x0d: define(in.unsigned_leb()); return true;  // def_cfa_register
      case 0x0e: row_.offset = static_cast<std::int64_t>(in.unsigned_leb()); return true;
      case 0x13: row_.offset = in.signed_leb() * common_.data_factor; return true;
      case 0x0f:  // def_cfa_expression
        row_.cfa = Row::Cfa::unknown;
        in.skip(in.unsigned_leb());
        return true;
      case 0x10:  // expression
      case 0x16:  // val_expression
        save_elsewhere(in.unsigned_leb());
        in.skip(in.unsigned_leb());
        return true;
      case 0x14:  // val_offset
      case 0x15:  // val_offset_sf
        save_elsewhere(in.unsigned_leb());
        in.signed_leb();
        return true;
      case 0x2e: in.unsigned_leb(); return true;  // GNU_args_size
      default: return false;
    }
  }

  const Common& common_;
  std::uintptr_t location_;
  std::uintptr_t code_;
  Row row_;
  Row initial_;
  std::array<Row, 8> kept_{};
  std::size_t depth_ = 0;
};

FrameRule rule_of(const Row& row) noexcept {
  if (row.is_outermost) return FrameRule::of(FrameRule::Kind::outermost);
  const bool is_plain = row.cfa != Row::Cfa::unknown && row.returns_below && row.offset > 0 &&
                        row.offset <= INT32_MAX && row.fp != Row::Saved::elsewhere;
  if (!is_plain) return {};
  std::uint64_t saved = 0;
  if (row.fp == Row::Saved::at_offset) {
    if (row.fp_offset >= 0 || row.fp_offset % 8 != 0) return {};
    saved = static_cast<std::uint64_t>(-row.fp_offset) / 8;
    if (saved > FrameRule::saved_most) return {};
  }
  const auto kind = row.cfa == Row::Cfa::of_sp ? FrameRule::Kind::of_sp : FrameRule::Kind::of_fp;
  return FrameRule::of(kind, static_cast<std::uint32_t>(row.offset), saved);
}

// The entry of the function (FDE) in which the code may lie; null when there is none.
const std::byte* find_function(const std::byte* table, std::uintptr_t code) noexcept {
  std::uint8_t head[4];  // Version, and the forms of three things.
  memcpy(head, table, sizeof head);
  constexpr std::uint8_t in_pairs = from_the_table | form_sdata4;
  if (head[0] != 1 || head[2] == omitted || head[3] != in_pairs) return nullptr;
  Reader in(table + sizeof head, table + 64);
  in.pointer(head[1], table);
  const std::uintptr_t count = in.pointer(head[2], table);
  if (in.has_failed() || count == 0 || count > UINT32_MAX) return nullptr;
  struct Pair {
    std::int32_t function;
    std::int32_t entry;
  };
  const std::byte* const pairs = in.at();
  const auto pair_at = [pairs](std::size_t i) noexcept {
    Pair pair{};
    memcpy(&pair, pairs + i * sizeof pair, sizeof pair);
    return pair;
  };
  const auto distance = static_cast<std::int64_t>(code) -
                        static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(table));
  std::size_t low = 0;  // All before it begin at the code or before it.
  std::size_t high = count;
  while (low < high) {
    const std::size_t middle = low + (high - low) / 2;
    if (pair_at(middle).function <= distance) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low == 0 ? nullptr : table + pair_at(low - 1).entry;
}

}  // namespace

TARN_UNSANITIZED FrameRule read_frame_rule(const std::byte* table, std::uintptr_t code) noexcept {
  const std::byte* const function = find_function(table, code);
  constexpr FrameRule none = FrameRule::of(FrameRule::Kind::outermost);
  if (function == nullptr) return none;
  Reader in = entry_at(function);
  const std::byte* const place = in.at();
  const auto back = in.read<std::uint32_t>();
  if (in.has_failed() || back == 0) return none;
  const Common common = read_common(place - back);
  if (!common.is_known) return none;
  const std::uintptr_t from = in.pointer(common.pointer_form, table);
  const std::uintptr_t bytes = in.pointer(common.pointer_form & form_mask, table);
  if (in.has_failed() || code - from >= bytes) return none;
  if (common.is_signal) return FrameRule::of(FrameRule::Kind::signal);
  if (common.has_sizes) in.skip(in.unsigned_leb());
  Rows rows(common, from, code);
  if (!rows.run(common.program)) return none;
  rows.begin();
  return rows.run(in) ? rule_of(rows.row()) : none;
}

constinit RememberedRules remembered_rules{};

TARN_COLD FrameRule learn_frame_rule(std::uintptr_t code) noexcept {
  const std::byte* const table = os::find_unwind_table(reinterpret_cast<const void*>(code));
  const FrameRule rule = table == nullptr ? FrameRule{} : read_frame_rule(table, code);
  RememberedRule& place = place_of_rule(code);
  place.rule.store(rule.word, std::memory_order_relaxed);
  place.mixed.store(code ^ rule.word, std::memory_order_relaxed);
  return rule;
}

}  // namespace tarn
