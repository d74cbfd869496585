// Functions that instrumented copies of sources call (scripts/mutate). Each call names its mutant and notes that it was
// reached. It computes the mutated value when that mutant is the chosen one.
#pragma once

#include <initializer_list>
#include <type_traits>

namespace strobe_mutation {

extern int chosen;               // 0: none
extern unsigned char reached[];  // by mutant

inline bool on(int id) {
  reached[id] = 1;
  return id == chosen;
}

template <class T>
T pick(int id, T value, std::type_identity_t<T> other) {
  return on(id) ? other : value;
}

// Two mutants each: `id` moves the border, `id + 1` is the opposite. An id of -1 is a mutant that was not drawn.
inline bool drawn_and_on(int id) { return id > 0 && on(id); }

#define STROBE_MUTATION_ORDER(name, op, border, opposite)             \
  template <class A, class B>                                         \
  bool name(int at_border, int at_opposite, const A& a, const B& b) { \
    if (drawn_and_on(at_border)) return a border b;                   \
    if (drawn_and_on(at_opposite)) return a opposite b;               \
    return a op b;                                                    \
  }
STROBE_MUTATION_ORDER(less, <, <=, >=)
STROBE_MUTATION_ORDER(less_equal, <=, <, >)
STROBE_MUTATION_ORDER(greater, >, >=, <=)
STROBE_MUTATION_ORDER(greater_equal, >=, >, <)

#define STROBE_MUTATION_SWAP(name, op, other)                          \
  template <class A, class B>                                          \
  auto name(int id, const A& a, const B& b)->decltype(a op b) {        \
    return on(id) ? static_cast<decltype(a op b)>(a other b) : a op b; \
  }
STROBE_MUTATION_SWAP(equal, ==, !=)
STROBE_MUTATION_SWAP(unequal, !=, ==)
STROBE_MUTATION_SWAP(plus, +, -)
STROBE_MUTATION_SWAP(minus, -, +)
STROBE_MUTATION_SWAP(times, *, +)
STROBE_MUTATION_SWAP(divided, /, *)
STROBE_MUTATION_SWAP(modulo, %, +)

template <class T>
T min(int id, const T& a, const T& b) {
  return on(id) ? (a < b ? b : a) : (b < a ? b : a);
}
template <class T>
T max(int id, const T& a, const T& b) {
  return on(id) ? (b < a ? b : a) : (a < b ? b : a);
}
template <class T>
T extreme(bool largest, std::initializer_list<T> values) {
  T result = *values.begin();
  for (const T& value : values) {
    if (largest ? result < value : value < result) result = value;
  }
  return result;
}
template <class T>
T min(int id, std::initializer_list<T> values) {
  return extreme(on(id), values);
}
template <class T>
T max(int id, std::initializer_list<T> values) {
  return extreme(!on(id), values);
}

}  // namespace strobe_mutation
