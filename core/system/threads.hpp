// Starts threads, and reports when the system's or the shell's limits allow no more.
#pragma once

#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "core/errors.hpp"

namespace strobe {

/// Returns the std::thread or std::jthread that `make` makes. Throws SystemError, "cannot start a thread for WHAT:
/// ...", when the system refuses.
template <class Make>
auto start_thread(const std::string& what, const Make& make) {
  try {
    return make();
  } catch (const std::system_error& error) {
    throw SystemError("cannot start a thread for " + what + ": " + error.code().message());
  }
}

}  // namespace strobe
