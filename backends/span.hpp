// Spans: the one measurement. The device and the communicator append them where time, bytes and FLOPs arise; everything
// that is reported is computed from them.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/enum_array.hpp"

namespace strobe {

/// Rows that an operation reads, or writes, through an index, and so several times. Bytes of all accesses, of the
/// distinct rows (which bytes_read or bytes_written counts once), of the rows in use at one time (one snapshot of a
/// block), and of one row. All 0 when nothing is indexed.
struct Gather {
  double accessed_bytes = 0;
  double distinct_bytes = 0;
  double window_bytes = 0;
  double row_bytes = 0;
};

/// The cost of an operation by its shapes: floating-point operations, compulsory bytes read and written, and the part
/// accessed through an index. `rounds` counts the parts that must run one after the other because each reads the result
/// of the one before (the steps of a recurrence); 0 when all can run at once.
struct Work {
  double flops = 0;
  double bytes_read = 0;
  double bytes_written = 0;
  Gather gather = {};
  double rounds = 0;
  double bytes() const { return bytes_read + bytes_written; }
};

/// The kinds of time in an epoch. `other` is time that no span covers.
enum class Phase : std::uint8_t { compute, communicate, transfer, host, wait, other };
inline constexpr int phase_count = 6;
template <class T>
using PerPhase = EnumArray<Phase, T, phase_count>;
inline constexpr PerPhase<std::string_view> phase_names = {
    {"compute", "communicate", "transfer", "host", "wait", "other"}};

/// The purpose of a collective's bytes. `memory`: rows of node memory; `sampling`: what ranks ask each other to draw
/// batches; `parameters`: weights that are averaged.
enum class Traffic : std::uint8_t { redistribute, halo, state, memory, sampling, gradient, parameters, other };
inline constexpr int traffic_count = 8;
template <class T>
using PerTraffic = EnumArray<Traffic, T, traffic_count>;
inline constexpr PerTraffic<std::string_view> traffic_names = {
    {"redistribute", "halo", "state", "memory", "sampling", "gradient", "parameters", "other"}};

/// Queues of a rank. Each runs in order, and they run in parallel. The device has four: `copy` moves from the host to
/// the device and `copy_back` the other way. The host has one.
enum class Stream : std::uint8_t { compute, copy, communicate, copy_back, host };
inline constexpr int stream_count = 5;
template <class T>
using PerStream = EnumArray<Stream, T, stream_count>;
inline constexpr PerStream<std::string_view> stream_names = {{"compute", "copy", "communicate", "copy back", "host"}};

/// One interval on one stream of one rank. Times are seconds on the rank's clock (wall or virtual).
/// `blocking` spans occupy the rank's critical path: phases add up over them. A collective that overlaps compute leaves
/// a non-blocking span on the communicate stream and a blocking one only for the part that was waited for.
struct Span {
  std::string_view name;  // static text: operation or collective
  Phase phase = Phase::compute;
  Stream stream = Stream::compute;
  Traffic traffic = Traffic::other;
  bool blocking = true;
  double begin_seconds = 0;
  double end_seconds = 0;
  Work work;
  std::uint64_t sent_bytes = 0;      // to other ranks
  std::uint64_t transfer_bytes = 0;  // host to device and back
  std::uint32_t messages = 0;        // point-to-point messages of non-zero size to other ranks
  std::uint64_t live_bytes = 0;      // for operations: accounted memory when the operation was given to the device
};

/// The spans of one rank in the order in which they ended. Owned by the rank's device; not shared between threads.
class SpanRecorder {
 public:
  void append(const Span& span) { spans_.push_back(span); }
  /// Sets the times of span `index`, for devices that learn them after they submitted the work.
  void set_times(std::size_t index, double begin_seconds, double end_seconds) {
    spans_[index].begin_seconds = begin_seconds;
    spans_[index].end_seconds = end_seconds;
  }
  const std::vector<Span>& spans() const { return spans_; }
  std::size_t size() const { return spans_.size(); }
  void clear() { spans_.clear(); }

 private:
  std::vector<Span> spans_;
};

}  // namespace strobe
