// The state of every vertex's memory without its values: the time of its last update, and the event of its waiting
// mail. It follows from the events alone. So the host can draw a batch before the device has computed the one before.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "harness/event_batches/batches/memory_moments.hpp"
#include "workloads/graph/graph.hpp"

namespace strobe {

class MemoryClock {
 public:
  explicit MemoryClock(std::int64_t vertices)
      : updated(static_cast<std::size_t>(vertices), 0.0),
        mail_time(static_cast<std::size_t>(vertices), 0.0),
        mail_event(static_cast<std::size_t>(vertices), -1),
        passed_(static_cast<std::size_t>(vertices), 0) {}

  /// The state of vertex `v`, from its events (memory_moments.hpp).
  void set(std::size_t v, const VertexTimes& times) {
    updated[v] = times.updated, mail_time[v] = times.mail_time, mail_event[v] = times.mail_event;
  }
  /// Sets memory to zero and drops all mails.
  void reset() {
    std::fill(updated.begin(), updated.end(), 0.0);
    std::fill(mail_time.begin(), mail_time.end(), 0.0);
    std::fill(mail_event.begin(), mail_event.end(), EdgeId{-1});
  }
  bool has_mail(VertexId v) const { return mail_event[v] >= 0; }
  /// The time of the memory's last update after its waiting mail is applied.
  double updated_after_mail(VertexId v) const {
    const std::size_t at = v;
    return has_mail(v) ? mail_time[at] : updated[at];
  }

  /// Advances past the batch [first, first + count) of `graph`. Applies the mails that waited at the ends of its
  /// events. Then each end's last event leaves its mail. `start` is the time of the workload's first event.
  void pass(const EventGraph& graph, double start, EdgeId first, std::int64_t count) {
    ++passes_;
    const auto meet = [&](VertexId v, EdgeId event) {
      const std::size_t at = v;
      if (std::exchange(passed_[at], passes_) == passes_) return;
      updated[at] = updated_after_mail(v);
      mail_time[at] = graph.time[event] - start;
      mail_event[at] = event;
    };
    for (EdgeId e = first + count - 1; e >= first; --e) {  // backwards, to meet the last event of a vertex first
      meet(graph.target[e], e);
      meet(graph.source[e], e);
    }
  }

  std::vector<double> updated;     // [N] seconds since the first event
  std::vector<double> mail_time;   // [N]
  std::vector<EdgeId> mail_event;  // [N] -1 = no mail

 private:
  std::vector<std::int64_t> passed_;  // [N] the last pass that met the vertex
  std::int64_t passes_ = 0;
};

}  // namespace strobe
