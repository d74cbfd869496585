// Errors that end a command: their words and their exit status.
#pragma once

#include <exception>
#include <string>

#include "core/errors.hpp"

namespace strobe {

/// What ended the command has been said already, here or by another process; only the exit status is left.
class Told : public Error {
 public:
  explicit Told(int status) : Error("see what was said before"), status_(status) {}
  int status() const { return status_; }

 private:
  int status_;
};

/// The documented exit status of an error, and its words.
int status_of(const std::exception& error);
std::string failure_text(const std::exception& error);

/// Says on standard error why the command failed, with the rank where a launcher started several processes, and returns
/// the exit status.
int report_failure(const std::exception& error);

}  // namespace strobe
