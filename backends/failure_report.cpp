// Turns exceptions into reports and back. An error type whose constructor composes its message from parts is rethrown
// as a derived type that keeps the message of the process in which it arose.
#include "backends/failure_report.hpp"

#include <algorithm>
#include <cstring>
#include <new>

#include "core/errors.hpp"

namespace strobe {
namespace {

template <class Base>
class Relayed : public Base {
 public:
  template <class... Arguments>
  explicit Relayed(std::string text, Arguments&&... arguments)
      : Base(std::forward<Arguments>(arguments)...), text_(std::move(text)) {}
  const char* what() const noexcept override { return text_.c_str(); }

 private:
  std::string text_;
};

void set_text(FailureReport& report, const char* text) {
  std::strncpy(report.text, text, FailureReport::most_text - 1);
}

void describe(FailureReport& report, const CollectiveTimeout& timeout) {
  report.kind = FailureReport::Kind::timeout;
  report.missing_count =
      static_cast<std::int32_t>(std::min<std::size_t>(timeout.missing().size(), FailureReport::most_missing));
  std::copy_n(timeout.missing().begin(), report.missing_count, report.missing);
}

}  // namespace

FailureReport report_of(const std::exception_ptr& failure, int rank) {
  using Kind = FailureReport::Kind;
  FailureReport report;
  report.kind = Kind::error;
  report.rank = rank;
  set_text(report, "an exception of unknown type");
  try {
    std::rethrow_exception(failure);
  } catch (const std::bad_alloc&) {
    report.kind = Kind::out_of_memory;
    report.number = rank;
    set_text(report, "the host's memory is exhausted");
  } catch (const std::exception& known) {
    set_text(report, known.what());
    if (dynamic_cast<const PeerFailed*>(&known) != nullptr) report.kind = Kind::consequence;
    if (dynamic_cast<const InvalidInput*>(&known) != nullptr) report.kind = Kind::invalid_input;
    if (dynamic_cast<const InvalidRequest*>(&known) != nullptr) report.kind = Kind::invalid_request;
    if (dynamic_cast<const Unavailable*>(&known) != nullptr) report.kind = Kind::unavailable;
    if (dynamic_cast<const SystemError*>(&known) != nullptr) report.kind = Kind::system;
    if (const auto* timeout = dynamic_cast<const CollectiveTimeout*>(&known)) describe(report, *timeout);
    if (const auto* stopped = dynamic_cast<const Interrupted*>(&known)) {
      report.kind = Kind::interrupted;
      report.number = stopped->signal();
    }
    if (const auto* memory = dynamic_cast<const OutOfMemory*>(&known)) {
      report.kind = Kind::out_of_memory;
      report.number = memory->rank() < 0 ? report.rank : memory->rank();
    }
  } catch (...) {
    // The text above says it.
  }
  return report;
}

const FailureReport* first_cause(const std::vector<FailureReport>& reports) {
  const FailureReport* best = nullptr;
  const auto weight = [](const FailureReport& report) {
    if (!report.is_cause()) return report.failed() ? 2 : 3;
    return report.kind == FailureReport::Kind::timeout ? 1 : 0;
  };
  for (const FailureReport& report : reports) {
    if (report.failed() && (best == nullptr || weight(report) < weight(*best))) best = &report;
  }
  return best;
}

void rethrow(const FailureReport& report) {
  using Kind = FailureReport::Kind;
  const std::string text = report.text;
  switch (report.kind) {
    case Kind::timeout:
      throw Relayed<CollectiveTimeout>(text, "", report.rank, 0.0,
                                       std::vector<int>(report.missing, report.missing + report.missing_count));
    case Kind::interrupted:
      throw Interrupted(report.number);
    case Kind::out_of_memory:
      throw Relayed<OutOfMemory>(text, report.number, 0u, 0u, 0u);
    case Kind::invalid_input:
      throw Relayed<InvalidInput>(text, "", 0u, 0u, "");
    case Kind::invalid_request:
      throw InvalidRequest("", text);
    case Kind::unavailable:
      throw Unavailable(text);
    case Kind::system:
      throw SystemError(text);
    case Kind::consequence:
      throw PeerFailed(text);
    case Kind::none:
    case Kind::error:
      break;
  }
  throw Error(text);
}

}  // namespace strobe
