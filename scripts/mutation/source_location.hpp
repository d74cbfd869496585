// Clang before version 15 has no std::source_location. Without one it could not read what uses core/registry.hpp.
#pragma once

#include <source_location>

#if !__has_builtin(__builtin_source_location) && !defined(__cpp_lib_source_location)
namespace std {
struct source_location {
  static constexpr source_location current() { return {}; }
  [[nodiscard]] constexpr const char* file_name() const { return ""; }
};
}  // namespace std
#endif
