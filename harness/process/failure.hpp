// Errors that end a command: their messages and their exit status.
#pragma once

#include <exception>
#include <string>

#include "core/errors.hpp"

namespace strobe {

/// An error that was already reported, here or by another process. Only the exit status is left to return.
class AlreadyReported : public Error {
 public:
  explicit AlreadyReported(int status) : Error("see the messages before this one"), status_(status) {}
  int status() const { return status_; }

 private:
  int status_;
};

/// The documented exit status of an error, and its message.
int status_of(const std::exception& error);
std::string failure_text(const std::exception& error);

/// Prints on standard error why the command failed, and returns the exit status. If a launcher started several
/// processes, the message names the rank.
int report_failure(const std::exception& error);

}  // namespace strobe
