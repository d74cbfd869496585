// What is known of every vertex's memory without its values: when it was updated last, and which event left the mail
// that waits. It follows from the events alone, so the host keeps it, and a batch is drawn before the one in front of
// it has been computed.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/ids.hpp"

namespace strobe {

struct MemoryClock {
  explicit MemoryClock(std::int64_t vertices)
      : updated(static_cast<std::size_t>(vertices), 0.0),
        mail_time(static_cast<std::size_t>(vertices), 0.0),
        mail_event(static_cast<std::size_t>(vertices), -1) {}

  /// Nothing has happened: memory is zero, and no mail waits.
  void reset() {
    std::fill(updated.begin(), updated.end(), 0.0);
    std::fill(mail_time.begin(), mail_time.end(), 0.0);
    std::fill(mail_event.begin(), mail_event.end(), EdgeId{-1});
  }
  bool has_mail(VertexId v) const { return mail_event[static_cast<std::size_t>(v)] >= 0; }
  /// The time of the memory's last update once the mail has been applied.
  double updated_after_mail(VertexId v) const {
    const auto at = static_cast<std::size_t>(v);
    return has_mail(v) ? mail_time[at] : updated[at];
  }

  std::vector<double> updated;     // [N] seconds since the first event
  std::vector<double> mail_time;   // [N]
  std::vector<EdgeId> mail_event;  // [N] -1 = no mail
};

}  // namespace strobe
