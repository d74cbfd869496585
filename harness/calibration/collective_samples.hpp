// Samples of collectives: as the epochs of a case issue them, and each kind over a range of sizes among ranks that
// enter it together.
#pragma once

#include <string>
#include <vector>

#include "backends/communicator.hpp"
#include "harness/calibration/operation_samples.hpp"

namespace strobe {

/// The name of samples that are half of a round trip between two ranks: what their link takes for a message.
inline constexpr const char* message_name = "message";

struct CollectiveSample {
  std::string collective;  // as in collective_names, "send" being the receiver's part of a message; or message_name
  int ranks = 2;
  double bytes = 0;     // that the busiest rank sends or receives
  double messages = 0;  // peers of that rank
  double seconds = 0;   // of a rank's wait, once all ranks are there
  /// The same from the moment on which the data could move, before the rank waited for it or after. Differs where a
  /// device moves data beside its compute.
  double flight_seconds = 0;
  std::string workload;  // of the case in whose epochs it was measured, as text; "" = alone, with warm buffers
};

/// Samples from the spans of all ranks of one case, [rank][span]: collectives among all ranks with as many bytes and
/// messages are one sample, its time the median over ranks and measured epochs of the mean in the epoch. Bytes are the
/// most that a rank sends, which on more than two ranks can be less than what another receives. Messages between two
/// ranks and barriers are not among them, nor kinds that ranks did not issue equally often.
std::vector<CollectiveSample> epoch_collectives(const std::vector<std::vector<Span>>& spans, const KeptEpochs& epochs,
                                                const std::string& workload);

/// Of samples of one collective and number of ranks, those that its fit stands on: what epochs issue, and the others
/// outside their range of bytes. Alone a collective is quicker: its buffers are in the caches of the ranks that use
/// them.
std::vector<CollectiveSample> samples_to_fit(const std::vector<CollectiveSample>& samples);

/// Measures every collective of `communicator` (a name of CommunicatorRegistry), and messages between ranks 0 and 1,
/// for buffers of 8 bytes up to `largest_bytes`, each several times behind a barrier, on the ranks of `request`. Empty
/// in processes other than the first of an externally launched world, and on one rank.
std::vector<CollectiveSample> collective_samples(const std::string& communicator, const LaunchRequest& request,
                                                 std::uint64_t largest_bytes);

}  // namespace strobe
