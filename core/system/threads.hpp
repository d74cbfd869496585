// Starting threads, which fails where the system's or the shell's limits are reached.
#pragma once

#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "core/errors.hpp"

namespace strobe {

/// A std::thread or std::jthread made by `make`. Throws SystemError, "cannot start a thread for WHAT: ...", where there
/// can be none.
template <class Make>
auto start_thread(const std::string& what, const Make& make) {
  try {
    return make();
  } catch (const std::system_error& error) {
    throw SystemError("cannot start a thread for " + what + ": " + error.code().message());
  }
}

}  // namespace strobe
