#include "harness/event_batches/memory/mail_loss.hpp"

#include <algorithm>
#include <utility>

#include "workloads/storage/growing_column.hpp"

namespace strobe {
namespace {

/// Calls meet(vertex, event) for both ends of each event in time order; once for a self-loop.
template <class Meet>
void for_each_mail(const EventGraph& graph, EdgeId events, const Meet& meet) {
  for (EdgeId e = 0; e < events; ++e) {
    const VertexId source = graph.source[e], target = graph.target[e];
    meet(source, e);
    if (target != source) meet(target, e);
  }
}

/// Events of a vertex among those visited so far, numbered from 1. 0 means none, so a new table has zeros alone.
struct Heard {
  EdgeId last = 0;    // the last one
  EdgeId known = 0;   // the last one before the current batch, which the memory knows
  EdgeId before = 0;  // the last one at an earlier time than the current event
};

}  // namespace

std::vector<std::int64_t> captured_mails(const EventGraph& graph, EdgeId events, std::int64_t batch) {
  std::vector<std::int64_t> captured(graph.vertices, 0);
  std::vector<std::int64_t> seen(captured.size(), -1);  // the last batch that has the vertex
  for_each_mail(graph, events, [&](VertexId v, EdgeId e) {
    const std::size_t at = v;
    captured[at] += std::exchange(seen[at], e / batch) != e / batch ? 1 : 0;
  });
  return captured;
}

MailLoss mail_loss(const EventGraph& graph, EdgeId events, std::int64_t batch) {
  GrowingColumn<Heard> heard(static_cast<std::size_t>(graph.vertices), reading_bound());
  const auto time = [&](EdgeId number) { return graph.time[number - 1]; };
  double mails = 0, captured = 0, stale = 0;
  for_each_mail(graph, events, [&](VertexId v, EdgeId e) {
    Heard& of = heard[v];
    const EdgeId number = e + 1;
    const bool first_in_batch = of.last == 0 || (of.last - 1) / batch != e / batch;
    mails += 1;
    captured += first_in_batch ? 1 : 0;
    if (first_in_batch) of.known = of.last;
    if (of.last > 0 && time(of.last) < time(number)) of.before = of.last;
    // Otherwise the memory knows all earlier events.
    if (of.before > of.known) stale += time(of.before) - (of.known > 0 ? time(of.known) : graph.time[0]);
    of.last = number;
  });
  if (mails == 0) return {};
  return {1 - captured / mails, stale / mails};
}

}  // namespace strobe
