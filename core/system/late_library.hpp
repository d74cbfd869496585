// A third-party shared library that is loaded when its first function is called, not when the program starts. Loading
// cuBLAS alone takes a sixth of a second, and most starts call nothing of it.
#pragma once

#include <string>
#include <vector>

namespace strobe {

class LateLibrary {
 public:
  /// `files` are tried in order; each is a name for the system to find, or an absolute path. A relative path is not
  /// loaded, because the working folder may belong to somebody else. `what` is the library's name in messages.
  LateLibrary(std::string what, std::vector<std::string> files) : what_(std::move(what)), files_(std::move(files)) {}

  /// The function of this name. The first call loads the library, which then stays loaded. Throws Unavailable, with the
  /// loader's words, when the library or its function is missing. Safe from several threads.
  void* symbol(const char* name);

 private:
  const std::string what_;
  const std::vector<std::string> files_;
  void* handle_ = nullptr;
};

}  // namespace strobe

#define STROBE_NAME_OF_EXPANDED(function) #function
#define STROBE_NAME_OF(function) STROBE_NAME_OF_EXPANDED(function)
/// `function` of `library()`, with the type that its header declares and without needing it to link.
#define STROBE_LATE(library, function)                                                                           \
  ([] {                                                                                                          \
    static const auto found = reinterpret_cast<decltype(&function)>(library().symbol(STROBE_NAME_OF(function))); \
    return found;                                                                                                \
  }())
