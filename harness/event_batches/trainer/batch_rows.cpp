// Invariant: a skipped batch leaves the same mails as a drawn one. So each drawn batch has the rows that it would have
// in a whole sweep.
#include "harness/event_batches/trainer/batch_rows.hpp"

#include <algorithm>

#include "harness/event_batches/batches/batch_draw.hpp"
#include "harness/event_batches/trainer/batch_source.hpp"

namespace strobe {
namespace {

/// Draws the parts of one batch of the first sweep as its ranks do, and adds their rows to `sums`.
void add_batch(const BatchOrder& order, std::int64_t batch, MemoryClock& clock, BatchDrawer& drawer, Workers& workers,
               BatchRows& sums) {
  const TrainingGroups& groups = order.groups();
  BatchDraw drawn;
  for (std::int64_t part = 0; part < groups.i; ++part) {
    const int rank = static_cast<int>(batch % groups.j * groups.i + part);
    drawer.draw(request_of(order, batch, rank, 0), clock, workers, drawn);
    sums.read += static_cast<double>(drawn.vertices.size());
    sums.with_mail += static_cast<double>(drawn.mails);
    sums.written += static_cast<double>(drawn.written.size());
  }
}

}  // namespace

BatchRows batch_rows(const EventCase& c, const BatchOrder& order, std::int64_t most_events) {
  const EventGraph& graph = *c.training.graph;
  const std::int64_t all = order.batches();
  BatchRows rows;
  rows.batches = std::clamp<std::int64_t>(most_events / order.whole_batch(), std::min<std::int64_t>(8, all), all);
  MemoryClock clock(graph.vertices);
  BatchDrawer drawer(c, c.training);
  Workers workers(1);
  std::int64_t next = 0;
  for (std::int64_t drawn = 0; drawn < rows.batches; ++drawn) {
    const std::int64_t batch = (2 * drawn + 1) * all / (2 * rows.batches);
    for (EdgeId e = next * order.whole_batch(); e < batch * order.whole_batch(); ++e) {
      // Counts do not depend on the times of mails.
      clock.mail_event[graph.source[e]] = e;
      clock.mail_event[graph.target[e]] = e;
    }
    next = batch;
    add_batch(order, batch, clock, drawer, workers, rows);
  }
  const double parts = std::max(1.0, static_cast<double>(rows.batches * order.groups().i));
  for (double* sum : {&rows.read, &rows.with_mail, &rows.written}) *sum /= parts;
  return rows;
}

}  // namespace strobe
