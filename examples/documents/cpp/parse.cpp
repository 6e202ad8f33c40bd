// parse: turns a file into a tree of elements. It reads a subset of Markdown: headings, paragraphs,
// lists with "- " and two blanks a level, code between lines of ```, comments, "[toc]", notes
// "[^name]: ..." and, within lines, emphasis, strong, code, links and [^name]. Nothing recurses.
//
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cctype>

#include "document.hpp"
#include "source.hpp"

namespace documents {

namespace {

constexpr int depth_max = 32;
constexpr auto npos = std::string_view::npos;

bool begins(std::string_view text, std::string_view with) {
  return text.substr(0, with.size()) == with;
}
bool is_space(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }

// The first of the letters, if it is `last`; npos when it is another one, or there is none.
std::size_t up_to(char last, std::string_view text, std::size_t at, std::string_view letters) {
  const std::size_t found = text.find_first_of(letters, at);
  return found != npos && text[found] == last ? found : npos;
}

// The length of a note's name, which goes up to a ]; 0 when it is no name.
std::size_t name_length(std::string_view text) {
  const std::size_t length = up_to(']', text, 0, "[] \t\r\n");
  return length != npos ? length : 0;
}

// Parses what is within lines.
class Inlines {
 public:
  Inlines(Element* block, std::string_view text) : parent_(block), text_(text) {}

  // False when the elements are nested too deep.
  bool read() {
    const bool is_in_note = parent_->kind == Kind::note;
    while (at_ < text_.size()) {
      switch (text_[at_]) {
        case '*':
          if (!read_stars()) return false;
          break;
        case '`': read_code(); break;
        case '[':
          if (is_in_note || !begins(rest(), "[^")) {
            read_link();
          } else {
            read_cite();
          }
          break;
        case '\\': read_escape(); break;
        default: ++at_;
      }
    }
    end_run();
    return true;
  }

 private:
  std::string_view rest() const { return text_.substr(at_); }

  void end_run() {
    if (run_ != at_) make(parent_, Kind::text, text_.substr(run_, at_ - run_));
    run_ = at_;
  }
  Element* add(Kind kind, std::size_t start, std::size_t end) {
    end_run();
    return make(parent_, kind, text_.substr(start, end - start));
  }
  void go_on(std::size_t behind) { at_ = run_ = behind; }
  bool take_as_word(std::size_t bytes) {
    at_ += bytes;
    return true;
  }

  static std::size_t stars_in(std::string_view text) {
    return begins(text, "**") ? 2 : begins(text, "*") ? 1 : 0;
  }
  // A mark with words in front of it.
  bool has_end(std::size_t at, std::size_t stars) const {
    while (at < text_.size()) {
      const std::size_t found = stars_in(text_.substr(at));
      if (found == stars && !is_space(text_[at - 1])) return true;
      at += text_[at] == '\\' && at + 1 < text_.size() ? 2 : std::max<std::size_t>(found, 1);
    }
    return false;
  }

  bool read_stars() {
    const bool both_end = parent_->kind == Kind::emphasis && begins(rest(), "***");
    const std::size_t stars = both_end ? 1 : stars_in(rest());
    const Kind kind = stars == 2 ? Kind::strong : Kind::emphasis;
    if (parent_->kind == kind && is_space(text_[at_ - 1])) return take_as_word(stars);
    if (parent_->kind == kind) {
      end_run();
      parent_ = parent_of(parent_);
      --depth_;
      go_on(at_ + stars);
      return true;
    }
    const std::size_t behind = at_ + stars;
    if (behind == text_.size() || is_space(text_[behind])) return take_as_word(stars);
    bool& no_more = no_more_[stars - 1];
    if (no_more || !has_end(behind, stars)) {
      no_more = true;
      return take_as_word(stars);
    }
    if (++depth_ > depth_max) return false;
    parent_ = add(kind, at_, at_);
    go_on(behind);
    return true;
  }

  void read_code() {
    const std::size_t last = no_more_code_ ? npos : text_.find('`', at_ + 1);
    if (last == npos) {
      no_more_code_ = true;
      ++at_;
      return;
    }
    add(Kind::code, at_ + 1, last);
    go_on(last + 1);
  }

  void read_cite() {
    const std::size_t start = at_ + 2;
    const std::size_t length = name_length(text_.substr(start));
    if (length == 0) {
      at_ = start;
      return;
    }
    add(Kind::cite, start, start + length);
    go_on(start + length + 1);
  }

  void read_link() {
    const std::size_t middle = up_to(']', text_, at_ + 1, "[]");
    const bool is_link = middle != npos && begins(text_.substr(middle), "](");
    const std::size_t last = is_link ? up_to(')', text_, middle + 2, "[) \t\r\n") : npos;
    if (last == npos) {
      ++at_;
      return;
    }
    Element* const link = add(Kind::link, middle + 2, last);
    make(link, Kind::text, text_.substr(at_ + 1, middle - at_ - 1));
    go_on(last + 1);
  }

  void read_escape() {
    if (at_ + 1 == text_.size() || std::ispunct(static_cast<unsigned char>(text_[at_ + 1])) == 0) {
      ++at_;
      return;
    }
    end_run();
    ++run_;
    at_ += 2;
  }

  Element* parent_;  // The innermost that is open.
  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t run_ = 0;  // Words from here to at_ are no element yet.
  int depth_ = 0;
  bool no_more_[2] = {};  // Marks * and ** that could end something.
  bool no_more_code_ = false;
};

// Parses lines into blocks.
class Blocks {
 public:
  explicit Blocks(Document& document) : document_(document), text_(document.text) {}

  void read() {
    while (at_ < text_.size()) read_line();
    close();
  }

 private:
  [[noreturn]] void fail(const char* reason) const {
    throw Problem(document_.path + ":" + std::to_string(line_number_) + ": " + reason);
  }

  // From one place of the text to another.
  std::string_view part(std::size_t start, std::size_t end) const {
    return text_.substr(start, end - start);
  }

  void open(Element* block, std::size_t start, std::size_t end) {
    open_ = block;
    open_start_ = start;
    open_end_ = end;
  }
  void close() {
    if (open_ == nullptr) return;
    Inlines inlines(open_, part(open_start_, open_end_));
    if (!inlines.read()) fail("nested more than 32 deep");
    open_ = nullptr;
  }

  static std::size_t heading_level(std::string_view line) {
    const std::size_t level = line.find_first_not_of('#');
    return level != npos && level <= 6 && line[level] == ' ' ? level : 0;
  }

  void read_line() {
    ++line_number_;
    const std::size_t line = at_;
    std::size_t end = std::min(text_.find('\n', line), text_.size());
    at_ = std::min(end + 1, text_.size());
    while (end > line && is_space(text_[end - 1])) --end;
    const std::size_t start = std::min(text_.find_first_not_of(' ', line), end);
    if (start == end) return close();

    const std::string_view words = part(start, end);
    const std::size_t note_name = begins(words, "[^") ? name_length(words.substr(2)) : 0;
    const bool is_note = note_name != 0 && begins(words.substr(2 + note_name), "]:");
    const bool is_raw = begins(words, "```") || begins(words, "<!--");
    const bool is_block =
        is_note || is_raw || begins(words, "- ") || words == "[toc]" || heading_level(words) != 0;
    if (!is_block && open_ != nullptr) {
      open_end_ = end;
      return;
    }
    close();
    if (begins(words, "- ")) return read_item(line, start, end);
    item_ = nullptr;
    if (begins(words, "```")) return read_raw(Kind::code_block, start + 3, "\n```");
    if (begins(words, "<!--")) return read_raw(Kind::comment, start + 4, "-->");
    if (is_note) {
      Element* const note = make(document_.notes, Kind::note, words.substr(2, note_name));
      name(note, note->text);
      return open(note, start + 4 + note_name, end);
    }
    if (heading_level(words) != 0) return read_heading(start, end);
    Element* const block =
        make(document_.body, words == "[toc]" ? Kind::contents : Kind::paragraph, words);
    if (block->kind == Kind::paragraph) open(block, start, end);
  }

  void read_heading(std::size_t start, std::size_t end) {
    const std::size_t level = heading_level(part(start, end));
    Element* const heading = make(document_.body, Kind::heading, part(start + level + 1, end));
    heading->level = static_cast<int>(level);
    open(heading, start + level + 1, end);
    close();
  }

  void read_item(std::size_t line, std::size_t start, std::size_t end) {
    int level = static_cast<int>(std::min<std::size_t>((start - line) / 2, depth_max)) + 1;
    Element* list = nullptr;
    if (item_ == nullptr) {
      level = 1;
      list = make(document_.body, Kind::list);
    } else if (level > item_level_) {
      level = item_level_ + 1;
      if (level > depth_max) fail("nested more than 32 deep");
      list = make(item_, Kind::list);
    } else {
      list = parent_of(item_);
      for (int up = item_level_; up > level; --up) list = parent_of(parent_of(list));
    }
    item_level_ = level;
    item_ = make(list, Kind::item);
    open(item_, start + 2, end);
  }

  // A block from behind the mark at its beginning to the mark at its end. Parsing goes on behind
  // that.
  void read_raw(Kind kind, std::size_t start, std::string_view last_mark) {
    const std::size_t last = text_.find(last_mark, start);
    if (last == npos) fail(kind == Kind::comment ? "a comment without end" : "code without end");
    if (kind == Kind::comment) {
      make(document_.body, kind, part(start, last));
    } else {  // What stands behind the first mark is no code.
      make(document_.body, kind, part(text_.find('\n', start) + 1, last + 1));
    }
    const std::string_view lines = part(start, last + 1);
    line_number_ += static_cast<int>(std::count(lines.begin(), lines.end(), '\n'));
    --line_number_;  // What is behind the last mark is read as a line.
    at_ = last + last_mark.size();
  }

  Document& document_;
  std::string_view text_;
  std::size_t at_ = 0;
  int line_number_ = 0;
  Element* item_ = nullptr;  // The last one of the list that goes on.
  int item_level_ = 0;
  Element* open_ = nullptr;  // What further lines are added to: a paragraph, an item, a note.
  std::size_t open_start_ = 0;
  std::size_t open_end_ = 0;
};

}  // namespace

void name(Element* e, std::string_view text) {
  std::size_t length = std::min<std::size_t>(text.size(), 59);
  while (length > 0 && length < text.size() && (text[length] & 0xc0) == 0x80) --length;
  const std::string short_name(text.substr(0, length));
  if (!tarn::tree::set_name(e, short_name.c_str())) throw std::bad_alloc();
}

Document read(const std::string& path) {
  Document document;
  document.path = path;
  document.text = read_source(document.tree.root(), path);
  document.body = make(document.tree.root(), Kind::body);
  document.notes = make(document.tree.root(), Kind::notes);
  tarn::tree::set_name(document.tree.root(), path.c_str());
  Blocks(document).read();
  return document;
}

}  // namespace documents
