// Batches that are drawn once before training and used in every sweep (DistTGL, section 4.0.2). Every sweep has the
// same positives, and negatives come from a few groups. The whole structure of a batch is stored, with mails and times,
// which is the same in all sweeps that begin at the same batch.
#pragma once

#include <compare>
#include <memory>
#include <string>

#include "backends/host/host_work.hpp"
#include "harness/event_batches/batches/batch_draw.hpp"
#include "harness/event_batches/batches/batch_order.hpp"

namespace strobe {

/// The key of a rank's draw.
struct PresampledKey {
  std::int64_t sweep_begin = 0;  // the batch that the sweep began with
  EdgeId first = 0;              // event
  std::int64_t group = 0;        // of negatives
  bool writes = false;

  /// The key of a draw in the batch that the copy begins `sequence`-th.
  static PresampledKey of(const BatchOrder& order, std::int64_t sequence, std::int64_t copy,
                          const BatchRequest& request);
  auto operator<=>(const PresampledKey&) const = default;
};

/// A stored draw. `drawn` may be read after `reading` has run, or at once if `reading` has no body.
struct PresampledDraw {
  SharedDraw drawn;
  HostWork reading;
};

/// The thread of its rank uses it; `reading` tasks run on the host's threads.
class PresampledBatches {
 public:
  virtual ~PresampledBatches() = default;
  virtual bool has(const PresampledKey& key) const = 0;
  /// Throws SystemError if the file cannot be written.
  virtual void add(const PresampledKey& key, const SharedDraw& drawn) = 0;
  /// Returns a draw that was added before. Throws if there is none.
  virtual PresampledDraw find(const PresampledKey& key) = 0;
};

/// `where` is "memory" or "disk". The file on disk is in the folder for temporary files (TMPDIR) and vanishes with the
/// process. Throws SystemError.
std::unique_ptr<PresampledBatches> make_presampled_batches(const std::string& where);

}  // namespace strobe
