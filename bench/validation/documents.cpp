// Documents that are parsed into trees, changed, and written.
//
// json: objects, arrays and strings in the containers of the C++ library; xml: nodes, attributes
// and texts in blocks of malloc each, as C libraries have them.
//
// SPDX-License-Identifier: MIT
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "../meter/process.h"
#include "../workloads/random.hpp"
#include "validation.hpp"

namespace tarn {
namespace {

std::string some_word(Random& random, std::size_t least, std::size_t most) {
  std::string word(random.between(least, most), ' ');
  for (char& c : word) c = static_cast<char>('a' + random.below(26));
  return word;
}

struct DocumentShape {
  std::size_t width;  // The most children of a node.
  unsigned depth;
  std::size_t word_bytes;  // The most of a name or text.
};

void append_json(std::string& text, Random& random, const DocumentShape& shape, unsigned depth) {
  const std::uint64_t kind = depth == 0 ? 2 + random.below(4) : random.below(6);
  if (kind < 2) {
    text += kind == 0 ? '{' : '[';
    for (std::size_t n = random.between(1, shape.width); n != 0; --n) {
      if (kind == 0) text += '"' + some_word(random, 2, 12) + "\": ";
      append_json(text, random, shape, depth - 1);
      if (n != 1) text += ", ";
    }
    text += kind == 0 ? '}' : ']';
  } else if (kind < 4) {
    text += '"' + some_word(random, 1, shape.word_bytes) + '"';
  } else if (kind == 4) {
    text += std::to_string(random.below(1000000));
  } else {
    text += random.below(2) == 0 ? "true" : "null";
  }
}

struct Json {
  enum Kind { none, yes, number, text, array, object } kind = none;
  double value = 0;
  std::string string;
  std::vector<std::unique_ptr<Json>> items;
  std::map<std::string, std::unique_ptr<Json>> members;
};

class JsonReader {
 public:
  explicit JsonReader(std::string_view text) : rest_(text) {}

  std::unique_ptr<Json> read() {
    auto json = std::make_unique<Json>();
    skip_spaces();
    switch (rest_.empty() ? '\0' : rest_.front()) {
      case '{': read_members(*json); break;
      case '[': read_items(*json); break;
      case '"':
        json->kind = Json::text;
        json->string = read_string();
        break;
      case 't': json->kind = Json::yes, rest_.remove_prefix(4); break;
      case 'n': rest_.remove_prefix(4); break;
      default: read_number(*json);
    }
    return json;
  }

 private:
  void skip_spaces() {
    while (!rest_.empty() && (rest_.front() == ' ' || rest_.front() == '\n')) {
      rest_.remove_prefix(1);
    }
  }
  bool take(char c) {
    skip_spaces();
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  std::string read_string() {
    if (!take('"')) fail("json: a string was expected");
    std::string read;
    while (!take('"')) read += rest_.front(), rest_.remove_prefix(1);
    return read;
  }
  void read_number(Json& json) {
    json.kind = Json::number;
    if (rest_.empty() || rest_.front() < '0' || rest_.front() > '9') fail("json: no value");
    for (; !rest_.empty() && rest_.front() >= '0' && rest_.front() <= '9'; rest_.remove_prefix(1)) {
      json.value = json.value * 10 + (rest_.front() - '0');
    }
  }
  void read_items(Json& json) {
    json.kind = Json::array;
    rest_.remove_prefix(1);
    do json.items.push_back(read());
    while (take(','));
    if (!take(']')) fail("json: ] was expected");
  }
  void read_members(Json& json) {
    json.kind = Json::object;
    rest_.remove_prefix(1);
    do {
      std::string name = read_string();
      if (!take(':')) fail("json: : was expected");
      json.members[std::move(name)] = read();
    } while (take(','));
    if (!take('}')) fail("json: } was expected");
  }

  std::string_view rest_;
};

// Drops members whose names begin late in the alphabet, and adds the number of the others.
void edit(Json& json) {
  for (const std::unique_ptr<Json>& item : json.items) edit(*item);
  std::erase_if(json.members, [](const auto& member) { return member.first[0] > 't'; });
  for (const auto& [name, member] : json.members) edit(*member);
  if (json.kind == Json::object) {
    auto count = std::make_unique<Json>();
    count->kind = Json::number;
    count->value = static_cast<double>(json.members.size());
    json.members["count"] = std::move(count);
  }
}

std::string written(const Json& json) {
  switch (json.kind) {
    case Json::none: return "null";
    case Json::yes: return "true";
    case Json::number: return std::to_string(static_cast<long long>(json.value));
    case Json::text: return '"' + json.string + '"';
    case Json::array: break;
    case Json::object: {
      std::string text = "{";
      for (const auto& [name, member] : json.members) {
        text += '"' + name + "\":" + written(*member) + ',';
      }
      return text + '}';
    }
  }
  std::string text = "[";
  for (const std::unique_ptr<Json>& item : json.items) text += written(*item) + ',';
  return text + ']';
}

struct Attribute {
  Attribute* next;
  char* name;
  char* value;
};

struct Node {
  Node* parent;
  Node* next;
  Node* first;
  Node* last;
  Attribute* attributes;
  char* name;
  char* text;
};

template <class T>
T* make(T value) {
  auto* const made = static_cast<T*>(std::malloc(sizeof(T)));
  if (made == nullptr) fail("out of memory");
  *made = value;
  return made;
}

char* copied(std::string_view text) {
  auto* const copy = static_cast<char*>(std::malloc(text.size() + 1));
  if (copy == nullptr) fail("out of memory");
  std::memcpy(copy, text.data(), text.size());
  copy[text.size()] = '\0';
  return copy;
}

void append_xml(std::string& text, Random& random, const DocumentShape& shape, unsigned depth) {
  const std::string name = some_word(random, 3, 9);
  text += '<' + name;
  for (std::uint64_t n = random.below(4); n != 0; --n) {
    text += ' ' + some_word(random, 2, 8) + "=\"" + some_word(random, 1, 20) + '"';
  }
  text += '>';
  if (depth == 0) {
    text += some_word(random, 1, shape.word_bytes);
  } else {
    for (std::size_t n = random.between(1, shape.width); n != 0; --n) {
      append_xml(text, random, shape, depth - static_cast<unsigned>(random.between(1, depth)));
    }
  }
  text += "</" + name + '>';
}

std::string_view until(std::string_view& rest, const char* ends) {
  const std::size_t at = rest.find_first_of(ends);
  const std::string_view head = rest.substr(0, at);
  rest.remove_prefix(head.size());
  return head;
}

void read_attributes(std::string_view& rest, Node& node) {
  while (rest.front() == ' ') {
    rest.remove_prefix(1);
    char* const name = copied(until(rest, "="));
    rest.remove_prefix(2);
    node.attributes = make(Attribute{node.attributes, name, copied(until(rest, "\""))});
    rest.remove_prefix(1);
  }
  rest.remove_prefix(1);
}

void append(Node& parent, Node* child) {
  child->parent = &parent;
  child->next = nullptr;
  (parent.last != nullptr ? parent.last->next : parent.first) = child;
  parent.last = child;
}

Node* read_xml(std::string_view rest) {
  Node* const root = make(Node{});
  for (Node* at = root; !rest.empty();) {
    if (rest.front() != '<') {
      at->text = copied(until(rest, "<"));
    } else if (rest[1] == '/') {
      until(rest, ">");
      rest.remove_prefix(1);
      at = at->parent;
    } else {
      rest.remove_prefix(1);
      Node* const node = make(Node{});
      node->name = copied(until(rest, " >"));
      append(*at, node);
      read_attributes(rest, *node);
      at = node;
    }
  }
  return root;
}

void end_node(Node* node) {
  while (Node* const child = node->first) {
    node->first = child->next;
    end_node(child);
  }
  while (Attribute* const attribute = node->attributes) {
    node->attributes = attribute->next;
    std::free(attribute->name);
    std::free(attribute->value);
    std::free(attribute);
  }
  std::free(node->name);
  std::free(node->text);
  std::free(node);
}

// Takes out children of certain names, and writes the names of the others twice.
void edit(Node& node) {
  Node* children = node.first;
  node.first = node.last = nullptr;
  while (children != nullptr) {
    Node* const child = children;
    children = child->next;
    if (child->name[0] > 'v') {
      end_node(child);
      continue;
    }
    const std::size_t bytes = std::strlen(child->name);
    child->name = static_cast<char*>(std::realloc(child->name, 2 * bytes + 1));
    if (child->name == nullptr) fail("out of memory");
    std::memcpy(child->name + bytes, child->name, bytes);
    child->name[2 * bytes] = '\0';
    append(node, child);
    edit(*child);
  }
}

struct Output {
  char* text = nullptr;
  std::size_t bytes = 0;
  std::size_t room = 0;

  void add(const char* added) {
    const std::size_t count = std::strlen(added);
    if (bytes + count > room) {
      room = room + room / 2 + count + 64;
      text = static_cast<char*>(std::realloc(text, room));
      if (text == nullptr) fail("out of memory");
    }
    std::memcpy(text + bytes, added, count);
    bytes += count;
  }
};

void write(const Node& node, Output& output) {
  if (node.name != nullptr) output.add(node.name);
  for (const Attribute* a = node.attributes; a != nullptr; a = a->next) {
    output.add(a->name);
    output.add(a->value);
  }
  if (node.text != nullptr) output.add(node.text);
  for (const Node* child = node.first; child != nullptr; child = child->next) {
    write(*child, output);
  }
}

std::uint64_t sum_of(std::string_view text) {
  std::uint64_t sum = text.size();
  for (std::size_t i = 0; i < text.size(); i += 7)
    sum = sum * 31 + static_cast<unsigned char>(text[i]);
  return sum;
}

}  // namespace

std::uint64_t run_json(const Request& request) {
  Random random(request.seed * 32 + 1);
  const DocumentShape shape{random.between(6, 14), static_cast<unsigned>(random.between(4, 6)),
                            random.between(10, 60)};
  std::uint64_t sum = 0;
  for (std::uint64_t done = 0; done < request.size;) {
    const std::size_t bytes = random.log_size(10000, 7);
    std::string text = "[";
    while (text.size() < bytes) {
      append_json(text, random, shape, shape.depth);
      text += ',';
    }
    text += "null]";
    done += text.size();
    const std::unique_ptr<Json> json = JsonReader(text).read();
    edit(*json);
    sum += sum_of(written(*json));
  }
  return sum;
}

std::uint64_t run_xml(const Request& request) {
  Random random(request.seed * 32 + 2);
  const DocumentShape shape{random.between(5, 12), static_cast<unsigned>(random.between(5, 8)),
                            random.between(20, 90)};
  std::uint64_t sum = 0;
  for (std::uint64_t done = 0; done < request.size;) {
    const std::size_t bytes = random.log_size(10000, 7);
    std::string text;
    while (text.size() < bytes) append_xml(text, random, shape, shape.depth);
    done += text.size();
    Node* const root = read_xml(text);
    edit(*root);
    Output output;
    write(*root, output);
    sum += sum_of({output.text, output.bytes});
    std::free(output.text);
    end_node(root);
  }
  return sum;
}

}  // namespace tarn
