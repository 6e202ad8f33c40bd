// exploration: all interleavings of a few actors, each a coroutine that stops before every step
// that others can see. The search is depth-first; a state that was met before is not gone into
// again. A run cannot be copied, so going back means running again from the start.
//
//   state = what is shared + for each actor, what it has seen since its locals last meant nothing
//
// Two runs in the same state have the same future: an actor is a function of what it has seen.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <coroutine>
#include <cstdint>
#include <cstring>
#include <exception>
#include <source_location>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace tarn::model {

// A promise that the model did not keep.
struct Broken : std::runtime_error {
  using std::runtime_error::runtime_error;
};

inline void require(bool condition, const char* what) {
  if (!condition) throw Broken(what);
}

constexpr std::uint64_t mixed(std::uint64_t hash, std::uint64_t value) {
  std::uint64_t z = (hash ^ value) + 0x9e3779b97f4a7c15;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  z = (z ^ z >> 27) * 0x94d049bb133111eb;
  return z ^ z >> 31;
}

// A coroutine that starts when it is awaited, or by the first turn of its actor.
template <class T>
class [[nodiscard]] Task;

struct PromiseBase {
  std::coroutine_handle<> caller;
  std::exception_ptr broken;

  std::suspend_always initial_suspend() noexcept { return {}; }
  void unhandled_exception() { broken = std::current_exception(); }
  struct Final {
    bool await_ready() noexcept { return false; }
    template <class Promise>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> self) noexcept {
      const std::coroutine_handle<> caller = self.promise().caller;
      return caller ? caller : std::noop_coroutine();
    }
    void await_resume() noexcept {}
  };
  Final final_suspend() noexcept { return {}; }
};

template <class T>
struct Promise : PromiseBase {
  T value{};
  Task<T> get_return_object();
  void return_value(T v) { value = v; }
};

template <>
struct Promise<void> : PromiseBase {
  Task<void> get_return_object();
  void return_void() {}
};

template <class T>
class [[nodiscard]] Task {
 public:
  using promise_type = Promise<T>;
  using Handle = std::coroutine_handle<promise_type>;

  explicit Task(Handle handle) : handle_(handle) {}
  Task(Task&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Task& operator=(Task&&) = delete;
  ~Task() {
    if (handle_) handle_.destroy();
  }

  std::coroutine_handle<> handle() const { return handle_; }
  bool await_ready() const { return false; }
  std::coroutine_handle<> await_suspend(std::coroutine_handle<> caller) {
    handle_.promise().caller = caller;
    return handle_;
  }
  // Hands on what the task was broken by.
  void check() const {
    if (handle_.promise().broken) std::rethrow_exception(handle_.promise().broken);
  }
  T await_resume() {
    check();
    if constexpr (!std::is_void_v<T>) return handle_.promise().value;
  }

 private:
  Handle handle_;
};

template <class T>
Task<T> Promise<T>::get_return_object() {
  return Task<T>(Task<T>::Handle::from_promise(*this));
}
inline Task<void> Promise<void>::get_return_object() {
  return Task<void>(Task<void>::Handle::from_promise(*this));
}

// One thread of the model.
class Actor {
 public:
  // Stops here; goes on in a turn of its own. `waits`: only while the lock is free.
  struct Step {
    Actor& actor;
    bool await_ready() const { return false; }
    void await_suspend(std::coroutine_handle<> at) { actor.at_ = at; }
    void await_resume() const {}
  };
  Step step(std::source_location here = std::source_location::current()) {
    waits_ = false;
    history_ = mixed(history_, here.line());
    return {*this};
  }
  Step wait(std::source_location here = std::source_location::current()) {
    waits_ = true;
    history_ = mixed(history_, here.line());
    return {*this};
  }

  // What decides how the actor goes on and is not part of the shared state.
  template <class T>
  T saw(T value) {
    history_ = mixed(history_, static_cast<std::uint64_t>(value));
    return value;
  }

  void begin(const Task<void>& program) { at_ = program.handle(); }
  void turn() { at_.resume(); }
  bool waits() const { return waits_; }

 private:
  friend class Scope;
  std::coroutine_handle<> at_;
  bool waits_ = false;
  std::uint64_t history_ = 0;

 public:
  std::uint64_t history() const { return history_; }
};

// The time in which a function's locals live: at its end what it saw is forgotten, but for its
// result.
class Scope {
 public:
  explicit Scope(Actor& actor) : actor_(actor), mark_(actor.history_) {}
  ~Scope() { actor_.history_ = mark_; }
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

  template <class T>
  T result(T value) {
    mark_ = mixed(mark_, static_cast<std::uint64_t>(value));
    return value;
  }
  // At the top of a loop whose round depends on nothing but `value`.
  template <class T>
  T again(T value) {
    actor_.history_ = mixed(mark_, static_cast<std::uint64_t>(value));
    return value;
  }

 private:
  Actor& actor_;
  std::uint64_t mark_;
};

// A set of 64-bit keys. Two of a million states share a key once in 10^7 searches; then one of them
// is not gone into.
class Keys {
 public:
  bool insert(std::uint64_t key) {
    if (key == 0) key = 1;
    if (2 * (count_ + 1) > slots_.size()) grow();
    return place(key);
  }
  std::uint64_t count() const { return count_; }

 private:
  bool place(std::uint64_t key) {
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = static_cast<std::size_t>(key) & mask;
    for (; slots_[at] != 0; at = (at + 1) & mask) {
      if (slots_[at] == key) return false;
    }
    slots_[at] = key;
    ++count_;
    return true;
  }
  void grow() {
    const std::vector<std::uint64_t> before =
        std::exchange(slots_, std::vector<std::uint64_t>(slots_.size() * 2));
    count_ = 0;
    for (const std::uint64_t key : before) {
      if (key != 0) place(key);
    }
  }
  std::vector<std::uint64_t> slots_ = std::vector<std::uint64_t>(1 << 12);
  std::uint64_t count_ = 0;
};

struct Outcome {
  std::uint64_t states = 0;
  std::uint64_t runs = 0;
  std::string broken;           // Empty: every promise was kept in every interleaving.
  std::vector<unsigned> turns;  // The actors in the order of their steps, when broken.
};

// What went wrong, and how to come there.
inline std::string told(const Outcome& outcome) {
  std::string text = outcome.broken + "; turns: ";
  for (const unsigned actor : outcome.turns) text += static_cast<char>('0' + actor);
  return text;
}

// Of a shared state without padding.
template <class State>
std::uint64_t hash_of(const State& state) {
  static_assert(alignof(State) == 1, "no padding: it is hashed as bytes");
  std::array<std::uint8_t, sizeof(State)> bytes;
  std::memcpy(bytes.data(), &state, sizeof state);
  std::uint64_t hash = 0;
  for (const std::uint8_t byte : bytes) hash = mixed(hash, byte);
  return hash;
}

// Run: constructed by make(); enabled() is a mask of actors, turn(actor), key(), and finished(),
// which checks what must hold when nobody can go on.
template <class Make>
Outcome explore(Make make, std::uint64_t states_max) {
  struct Choice {
    unsigned rest;
    unsigned actor;
  };
  std::vector<Choice> choices;
  Outcome outcome;
  Keys met;
  const auto take_next = [](Choice& choice) {
    choice.actor = static_cast<unsigned>(__builtin_ctz(choice.rest));
    choice.rest &= choice.rest - 1;
  };
  for (;;) {
    auto run = make();
    ++outcome.runs;
    try {
      for (const Choice& choice : choices) run->turn(choice.actor);
      while (met.insert(run->key())) {
        const unsigned enabled = run->enabled();
        if (enabled == 0) {
          run->finished();
          break;
        }
        choices.push_back({enabled, 0});
        take_next(choices.back());
        run->turn(choices.back().actor);
      }
    } catch (const Broken& broken) {
      outcome.broken = broken.what();
      for (const Choice& choice : choices) outcome.turns.push_back(choice.actor);
    }
    outcome.states = met.count();
    if (!outcome.broken.empty()) return outcome;
    if (outcome.states > states_max) {
      outcome.broken = "too many states: the model has grown";
      return outcome;
    }
    while (!choices.empty() && choices.back().rest == 0) choices.pop_back();
    if (choices.empty()) return outcome;
    take_next(choices.back());
  }
}

}  // namespace tarn::model
