// Batches that are drawn before training and used whenever they come again (DistTGL, section 4.0.2): the positives of
// every sweep are the same, and negatives come from a few groups. What is kept is the whole structure of a batch, mails
// and times included, which a sweep that begins at the same batch always meets alike.
#pragma once

#include <compare>
#include <memory>
#include <string>

#include "backends/host/host_work.hpp"
#include "harness/event_batches/batches/batch_draw.hpp"
#include "harness/event_batches/batches/batch_order.hpp"

namespace strobe {

/// What tells the draws of one rank apart.
struct PresampledKey {
  std::int64_t sweep_begin = 0;  // the batch that the sweep began with
  EdgeId first = 0;              // event
  std::int64_t group = 0;        // of negatives
  bool writes = false;

  /// Of the draw `wish` in the batch that the copy begins `sequence`-th.
  static PresampledKey of(const BatchOrder& order, std::int64_t sequence, std::int64_t copy, const BatchWish& wish);
  auto operator<=>(const PresampledKey&) const = default;
};

/// A draw that is kept: `drawn` may be read once `reading` has been carried out; with an empty body, at once.
struct PresampledDraw {
  SharedDraw drawn;
  HostWork reading;
};

/// Used by its rank's thread; its readings by the host's.
class PresampledBatches {
 public:
  virtual ~PresampledBatches() = default;
  virtual bool has(const PresampledKey& key) const = 0;
  /// Throws SystemError where there is no room.
  virtual void add(const PresampledKey& key, const SharedDraw& drawn) = 0;
  /// What was added. Throws Error otherwise.
  virtual PresampledDraw find(const PresampledKey& key) = 0;
};

/// `where` is "memory" or "disk": a file in the folder for temporary files (TMPDIR), which is gone with its process.
/// Throws SystemError.
std::unique_ptr<PresampledBatches> make_presampled_batches(const std::string& where);

}  // namespace strobe
