// Why a rank stopped, in a form that travels between processes.
#pragma once

#include <cstdint>
#include <exception>
#include <vector>

namespace strobe {

/// Plain bytes. Every process rethrows the same type with the same message, so the case ends in the same way
/// everywhere.
struct FailureReport {
  enum class Kind : std::int32_t {
    none,
    consequence,
    timeout,
    interrupted,
    out_of_memory,
    invalid_input,
    invalid_request,
    unavailable,
    system,
    error
  };
  static constexpr int most_missing = 64;
  static constexpr int most_text = 1024;

  Kind kind = Kind::none;
  std::int32_t rank = 0;
  std::int32_t number = 0;    // the signal, or the rank that is out of memory
  std::int32_t leftover = 0;  // whether the rank started collectives that it never completed
  std::int32_t missing_count = 0;
  std::int32_t missing[most_missing] = {};
  char text[most_text] = {};

  bool failed() const { return kind != Kind::none; }
  /// Whether the rank stopped for a reason of its own.
  bool is_cause() const { return failed() && kind != Kind::consequence; }
};

/// The report of an exception that ended `rank`.
FailureReport report_of(const std::exception_ptr& failure, int rank);

/// The cause that all ranks report: that of the lowest rank that failed for a reason of its own. Timeouts are last,
/// because a timeout may only be the effect of another rank's failure. Null when no rank failed.
const FailureReport* first_cause(const std::vector<FailureReport>& reports);

/// Throws the exception that the report describes. A SystemError, InvalidInput, ... keeps its type and message.
[[noreturn]] void rethrow(const FailureReport& report);

}  // namespace strobe
