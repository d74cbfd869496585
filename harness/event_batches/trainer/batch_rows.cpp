// Invariant: each drawn batch has the rows that it would have in a whole sweep, because mails are those of its moment.
#include "harness/event_batches/trainer/batch_rows.hpp"

#include <algorithm>

#include "harness/event_batches/batches/batch_draw.hpp"
#include "harness/event_batches/trainer/batch_source.hpp"

namespace strobe {
namespace {

/// Draws the parts of one batch of the first sweep as its ranks do, and adds their rows to `sums`.
void add_batch(const BatchOrder& order, std::int64_t batch, BatchDrawer& drawer, Workers& workers, BatchRows& sums) {
  const TrainingGroups& groups = order.groups();
  const TrainingMoments moments(order);
  BatchDraw drawn;
  for (std::int64_t part = 0; part < groups.i; ++part) {
    const int rank = static_cast<int>(batch % groups.j * groups.i + part);
    drawer.draw(request_of(order, batch, rank, 0), moments, batch, workers, drawn);
    sums.read += static_cast<double>(drawn.vertices.size());
    sums.with_mail += static_cast<double>(drawn.mails);
    sums.written += static_cast<double>(drawn.written.size());
  }
}

}  // namespace

BatchRows batch_rows(const EventCase& c, const BatchOrder& order, std::int64_t most_events) {
  const std::int64_t all = order.batches();
  BatchRows rows;
  rows.batches = std::clamp<std::int64_t>(most_events / order.whole_batch(), std::min<std::int64_t>(8, all), all);
  BatchDrawer drawer(c, c.training, true);
  Workers workers(1);
  for (std::int64_t drawn = 0; drawn < rows.batches; ++drawn)
    add_batch(order, (2 * drawn + 1) * all / (2 * rows.batches), drawer, workers, rows);
  const double parts = std::max(1.0, static_cast<double>(rows.batches * order.groups().i));
  for (double* sum : {&rows.read, &rows.with_mail, &rows.written}) *sum /= parts;
  return rows;
}

}  // namespace strobe
