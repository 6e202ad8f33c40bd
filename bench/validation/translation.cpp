// Programs that are made of programs.
//
// compiler: sources of functions over integers are read into trees, folded, put into lists of
// instructions and registers, function after function; what belongs to a unit stays until its end.
// linker: the symbols, sections and relocations of many objects are read, double definitions
// dropped, and the rest laid out into one output.
//
// SPDX-License-Identifier: MIT
#include <cstring>
#include <list>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "../meter/process.h"
#include "../workloads/random.hpp"
#include "validation.hpp"

namespace tarn {
namespace {

std::string name_of(char kind, std::uint64_t number) { return kind + std::to_string(number); }

std::string source_of_expression(Random& random, unsigned depth, std::size_t names) {
  if (depth == 0 || random.below(6) == 0) {
    return random.below(2) == 0 ? std::to_string(random.below(100))
                                : name_of('v', random.below(names));
  }
  static constexpr const char* operators[] = {" + ", " - ", " * "};
  return '(' + source_of_expression(random, depth - 1, names) + operators[random.below(3)] +
         source_of_expression(random, depth - 1, names) + ')';
}

struct Token {
  enum Kind { name, number, sign, end } kind;
  std::string text;
};

std::vector<Token> tokens_of(const std::string& source) {
  std::vector<Token> tokens;
  for (std::size_t i = 0; i < source.size();) {
    const char c = source[i];
    std::size_t n = 1;
    if (c == ' ' || c == '\n') {
      ++i;
      continue;
    }
    const bool is_name = c >= 'a' && c <= 'z';
    const bool is_number = c >= '0' && c <= '9';
    while ((is_name || is_number) && i + n < source.size() &&
           ((source[i + n] >= '0' && source[i + n] <= '9') ||
            (is_name && source[i + n] >= 'a' && source[i + n] <= 'z'))) {
      ++n;
    }
    tokens.push_back({is_name     ? Token::name
                      : is_number ? Token::number
                                  : Token::sign,
                      source.substr(i, n)});
    i += n;
  }
  tokens.push_back({Token::end, ""});
  return tokens;
}

struct Tree {
  virtual ~Tree() = default;
};
struct Constant : Tree {
  long long value = 0;
};
struct Use : Tree {
  std::string name;
};
struct Operation : Tree {
  char sign = 0;
  std::unique_ptr<Tree> left, right;
};
struct Assignment {
  std::string target;
  std::unique_ptr<Tree> value;
};

class Parser {
 public:
  explicit Parser(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  std::vector<std::unique_ptr<Assignment>> statements() {
    std::vector<std::unique_ptr<Assignment>> read;
    while (tokens_[at_].kind != Token::end) {
      auto statement = std::make_unique<Assignment>();
      statement->target = tokens_[at_].text;
      at_ += 2;  // And the sign.
      statement->value = expression();
      ++at_;
      read.push_back(std::move(statement));
    }
    return read;
  }

 private:
  std::unique_ptr<Tree> expression() {
    const Token& token = tokens_[at_++];
    if (token.kind == Token::number) {
      auto constant = std::make_unique<Constant>();
      constant->value = std::stoll(token.text);
      return constant;
    }
    if (token.kind == Token::name) {
      auto use = std::make_unique<Use>();
      use->name = token.text;
      return use;
    }
    if (token.text != "(") fail("compiler: ( was expected");
    auto operation = std::make_unique<Operation>();
    operation->left = expression();
    operation->sign = tokens_[at_++].text[0];
    operation->right = expression();
    ++at_;
    return operation;
  }

  std::vector<Token> tokens_;
  std::size_t at_ = 0;
};

std::unique_ptr<Tree> folded(std::unique_ptr<Tree> tree) {
  auto* const operation = dynamic_cast<Operation*>(tree.get());
  if (operation == nullptr) return tree;
  operation->left = folded(std::move(operation->left));
  operation->right = folded(std::move(operation->right));
  const auto* const a = dynamic_cast<Constant*>(operation->left.get());
  const auto* const b = dynamic_cast<Constant*>(operation->right.get());
  if (a == nullptr || b == nullptr) return tree;
  auto constant = std::make_unique<Constant>();
  const long long bound = 1'000'003;
  constant->value = (operation->sign == '+'   ? a->value + b->value
                     : operation->sign == '-' ? a->value - b->value
                                              : a->value % bound * (b->value % bound)) %
                    bound;
  return constant;
}

struct Instruction {
  std::string operation;
  int target;
  std::vector<int> sources;
  long long constant;
};

// Instructions of one function, registers without limit at first.
class Emitter {
 public:
  void assign(const Assignment& statement) {
    const int value = emit(*statement.value);
    registers_[statement.target] = value;
  }
  // Drops what nobody uses, from the end, and counts how many registers live at once.
  std::uint64_t finish() {
    std::set<int> live;
    std::uint64_t most = 0;
    for (const auto& [name, reg] : registers_) live.insert(reg);
    for (auto i = code_.end(); i != code_.begin();) {
      --i;
      if (live.erase(i->target) == 0) {
        i = code_.erase(i);
        continue;
      }
      live.insert(i->sources.begin(), i->sources.end());
      if (live.size() > most) most = live.size();
    }
    return most * 1000 + code_.size();
  }
  std::string text() const {
    std::string text;
    for (const Instruction& i : code_) {
      text += '\t' + i.operation + "\tr" + std::to_string(i.target);
      for (const int source : i.sources) text += ", r" + std::to_string(source);
      if (i.sources.empty()) text += ", " + std::to_string(i.constant);
      text += '\n';
    }
    return text;
  }

 private:
  int emit(const Tree& tree) {
    if (const auto* const use = dynamic_cast<const Use*>(&tree)) {
      const auto known = registers_.find(use->name);
      if (known != registers_.end()) return known->second;
      return registers_[use->name] = add("load", {}, static_cast<long long>(use->name.size()));
    }
    if (const auto* const constant = dynamic_cast<const Constant*>(&tree)) {
      return add("move", {}, constant->value);
    }
    const auto& operation = dynamic_cast<const Operation&>(tree);
    const int left = emit(*operation.left);
    const int right = emit(*operation.right);
    return add(operation.sign == '+'   ? "add"
               : operation.sign == '-' ? "sub"
                                       : "mul",
               {left, right}, 0);
  }
  int add(const char* operation, std::vector<int> sources, long long constant) {
    code_.push_back({operation, next_, std::move(sources), constant});
    return next_++;
  }

  std::list<Instruction> code_;
  std::unordered_map<std::string, int> registers_;
  int next_ = 0;
};

struct Symbol {
  Symbol* next;  // In its bucket.
  char* name;
  std::uint32_t object, section;
};

struct Section {
  unsigned char* data;
  std::size_t bytes;
  std::size_t address = 0;
  bool is_dropped = false;
};

struct Relocation {
  std::size_t at;
  const Symbol* symbol;
};

struct Object {
  std::vector<Section> sections;
  std::vector<std::vector<Relocation>> relocations;
};

// Names to symbols, by chains; grows by making all buckets anew.
class Symbols {
 public:
  ~Symbols() {
    for (Symbol* symbol : buckets_) {
      while (symbol != nullptr) {
        Symbol* const next = symbol->next;
        std::free(symbol->name);
        std::free(symbol);
        symbol = next;
      }
    }
  }
  // The symbol of the name, which is new or not.
  Symbol* intern(const char* name, std::uint32_t object, std::uint32_t section, bool& is_new) {
    if (count_ >= buckets_.size()) grow();
    Symbol*& bucket = buckets_[hash(name) % buckets_.size()];
    for (Symbol* symbol = bucket; symbol != nullptr; symbol = symbol->next) {
      if (std::strcmp(symbol->name, name) == 0) {
        is_new = false;
        return symbol;
      }
    }
    auto* const symbol = static_cast<Symbol*>(std::malloc(sizeof(Symbol)));
    char* const copy = strdup(name);
    if (symbol == nullptr || copy == nullptr) fail("out of memory");
    *symbol = {bucket, copy, object, section};
    bucket = symbol;
    ++count_;
    is_new = true;
    return symbol;
  }

 private:
  static std::uint64_t hash(const char* name) {
    std::uint64_t hash = 1469598103934665603u;
    for (; *name != '\0'; ++name)
      hash = (hash ^ static_cast<unsigned char>(*name)) * 1099511628211u;
    return hash;
  }
  void grow() {
    std::vector<Symbol*> more(buckets_.size() * 2);
    for (Symbol* symbol : buckets_) {
      while (symbol != nullptr) {
        Symbol* const next = symbol->next;
        Symbol*& bucket = more[hash(symbol->name) % more.size()];
        symbol->next = bucket;
        bucket = symbol;
        symbol = next;
      }
    }
    buckets_.swap(more);
  }

  std::vector<Symbol*> buckets_ = std::vector<Symbol*>(64);
  std::size_t count_ = 0;
};

struct LinkShape {
  std::size_t sections, names, name_bytes;
  unsigned section_doublings;
};

Section read_section(Random& random, const LinkShape& shape) {
  const std::size_t bytes = random.log_size(48, shape.section_doublings);
  auto* const data = static_cast<unsigned char*>(std::malloc(bytes));
  if (data == nullptr) fail("out of memory");
  std::memset(data, static_cast<int>(random.below(256)), bytes);
  return {data, bytes};
}

// Sections that another object has defined before are dropped.
void read_object(Object& object, std::uint32_t number, Symbols& symbols, Random& random,
                 const LinkShape& shape) {
  for (std::uint32_t s = 0; s < shape.sections; ++s) {
    object.sections.push_back(read_section(random, shape));
    Section& section = object.sections.back();
    std::vector<Relocation>& relocations = object.relocations.emplace_back();
    std::string name = "_ZN" + std::to_string(random.below(shape.names));
    name.append(random.below(shape.name_bytes), 'T');
    bool is_new = false;
    symbols.intern(name.c_str(), number, s, is_new);
    if (!is_new) {
      std::free(section.data);
      section = {nullptr, 0, 0, true};
      continue;
    }
    for (std::size_t n = random.between(0, section.bytes / 64); n != 0; --n) {
      const std::string other = "_ZN" + std::to_string(random.below(shape.names));
      const Symbol* const symbol = symbols.intern(other.c_str(), number, s, is_new);
      relocations.push_back({random.below(section.bytes - 8), symbol});
    }
  }
}

std::uint64_t link(std::vector<Object>& objects) {
  std::size_t end = 4096;
  for (Object& object : objects) {
    for (Section& section : object.sections) {
      section.address = end;
      end += (section.bytes + 15) & ~std::size_t{15};
    }
  }
  auto* const output = static_cast<unsigned char*>(std::calloc(end, 1));
  if (output == nullptr) fail("out of memory");
  std::uint64_t sum = end;
  for (Object& object : objects) {
    for (std::size_t s = 0; s < object.sections.size(); ++s) {
      Section& section = object.sections[s];
      if (section.is_dropped) continue;
      std::memcpy(output + section.address, section.data, section.bytes);
      for (const Relocation& relocation : object.relocations[s]) {
        const Section& to = objects[relocation.symbol->object].sections[relocation.symbol->section];
        std::uint32_t value = static_cast<std::uint32_t>(to.address);
        std::memcpy(output + section.address + relocation.at, &value, sizeof value);
      }
      std::free(section.data);
    }
  }
  for (std::size_t i = 0; i < end; i += 61) sum = sum * 33 + output[i];
  std::free(output);
  return sum;
}

}  // namespace

std::uint64_t run_compiler(const Request& request) {
  Random random(request.seed * 64 + 1);
  const std::size_t names = random.between(10, 60);
  const unsigned depth = static_cast<unsigned>(random.between(4, 7));
  const std::size_t functions = random.between(40, 120);
  std::uint64_t sum = 0;
  for (std::uint64_t done = 0; done < request.size;) {
    std::unordered_map<std::string, std::string> unit;
    for (std::size_t f = 0; f < functions; ++f) {
      std::string source;
      for (std::size_t n = random.between(3, 40); n != 0; --n) {
        source += name_of('v', random.below(names)) + " = " +
                  source_of_expression(random, depth, names) + ";\n";
      }
      done += source.size();
      std::vector<std::unique_ptr<Assignment>> statements = Parser(tokens_of(source)).statements();
      Emitter emitter;
      for (std::unique_ptr<Assignment>& statement : statements) {
        statement->value = folded(std::move(statement->value));
        emitter.assign(*statement);
      }
      sum = sum * 31 + emitter.finish();
      unit[name_of('f', f)] = emitter.text();
    }
    std::string assembly;
    for (std::size_t f = 0; f < functions; ++f) assembly += unit[name_of('f', f)];
    sum += assembly.size();
  }
  return sum;
}

std::uint64_t run_linker(const Request& request) {
  Random random(request.seed * 64 + 2);
  const LinkShape shape{random.between(20, 120), random.between(5000, 40000),
                        random.between(20, 100), static_cast<unsigned>(random.between(5, 8))};
  std::uint64_t sum = 0;
  for (std::uint64_t done = 0; done < request.size;) {
    Symbols symbols;
    std::vector<Object> objects(random.between(60, 200));
    for (std::uint32_t i = 0; i < objects.size(); ++i) {
      read_object(objects[i], i, symbols, random, shape);
    }
    done += objects.size() * shape.sections;
    sum += link(objects);
  }
  return sum;
}

}  // namespace tarn
