#include "harness/full_batch/exchange/stale_rows.hpp"

#include <algorithm>
#include <cmath>

#include "backends/operations/operations_distance.hpp"
#include "core/system/parallel.hpp"

namespace strobe {
namespace {

/// One entry for each peer. Their rows are numbered one peer after the other, from 0.
PeerParts by_peer(const PeerSide& side) {
  PeerParts peers;
  std::int64_t next = 0;
  for (const PeerPart& part : side.parts()) {
    for (int i = 0; i < part.peers; ++i) {
      peers.push_back({next, part.count, part.peer + i, 1});
      next += part.count;
    }
  }
  return peers;
}

/// The tensor's row of each slot; empty where only counts are known.
std::vector<std::int64_t> tensor_rows(const PeerSide& side, std::int64_t RowMove::*row_in_tensor) {
  std::vector<std::int64_t> rows;
  for (const RowMove& move : side.list) {
    for (std::int64_t i = 0; i < move.rows; ++i) rows.push_back(move.*row_in_tensor + i);
  }
  return rows;
}

template <class T>
void distances_of(Workers& workers, std::int64_t width, const T* x, const T* y, std::vector<double>& distances) {
  constexpr std::int64_t rows_per_task = 4096;
  const std::int64_t rows = distances.size();
  workers.run((rows + rows_per_task - 1) / rows_per_task, [&](std::int64_t task) {
    const std::int64_t end = std::min(rows, (task + 1) * rows_per_task);
    for (std::int64_t r = task * rows_per_task; r < end; ++r)
      distances[r] = row_distance(x + r * width, y + r * width, width);
  });
}

std::int64_t rounded(std::int64_t count, double share) {
  return static_cast<std::int64_t>(std::llround(share * static_cast<double>(count)));
}

}  // namespace

StaleSlots stale_slots(const ExchangePlan& plan, Rank rank) {
  const RankExchange& side = plan.of(rank);
  StaleSlots slots;
  slots.send = by_peer(side.send);
  slots.receive = by_peer(side.receive);
  slots.output_of = tensor_rows(side.receive, &RowMove::to);
  const std::vector<std::int64_t> read = tensor_rows(side.send, &RowMove::from);
  if (read.empty()) {
    const auto rows = static_cast<double>(side.input_rows), peers = static_cast<double>(slots.send.size());
    if (rows > 0 && peers > 0) {
      const double share = std::min(1.0, static_cast<double>(side.send.total) / (rows * peers));
      slots.compared = std::llround(rows * (1 - std::pow(1 - share, peers)));
    }
    return slots;
  }
  slots.rows = read;
  std::sort(slots.rows.begin(), slots.rows.end());
  slots.rows.erase(std::unique(slots.rows.begin(), slots.rows.end()), slots.rows.end());
  slots.compared = static_cast<std::int64_t>(slots.rows.size());
  for (const std::int64_t row : read)
    slots.row_of.push_back(std::lower_bound(slots.rows.begin(), slots.rows.end(), row) - slots.rows.begin());
  return slots;
}

MovedRows moved_rows(const StaleSlots& slots, const std::vector<double>& distances, double threshold) {
  const auto stays = [&](std::int64_t row) { return distances[row] <= threshold; };
  MovedRows result;
  for (std::int64_t row = 0; row < slots.compared; ++row) {
    if (!stays(row)) result.moved.push_back(row);
  }
  for (const PeerPart& peer : slots.send) {
    const std::size_t before = result.rows.size();
    for (std::int64_t place = 0; place < peer.count; ++place) {
      const std::int64_t row = slots.row_of[peer.first + place];
      if (stays(row)) continue;
      result.rows.push_back(row);
      result.places.push_back(static_cast<std::int32_t>(place));
    }
    result.counts.push_back(static_cast<std::int64_t>(result.rows.size() - before));
  }
  return result;
}

std::vector<std::int64_t> assumed_counts(const PeerParts& peers, double share) {
  std::vector<std::int64_t> counts;
  for (const PeerPart& peer : peers) counts.push_back(rounded(peer.count, share));
  return counts;
}

MovedRows assumed_rows(const StaleSlots& slots, double share) {
  MovedRows result;
  result.counts = assumed_counts(slots.send, share);
  std::int64_t sent = 0;
  for (const std::int64_t count : result.counts) sent += count;
  result.moved.resize(rounded(slots.compared, share));
  result.rows.resize(sent);
  result.places.resize(sent);
  return result;
}

double largest_distance(const std::vector<double>& distances) {
  double largest = 0;
  for (const double distance : distances) {
    if (!(distance <= largest)) largest = distance;
    if (std::isnan(distance)) return distance;
  }
  return largest;
}

void compute_distances(Workers& workers, ElementType type, std::int64_t width, const std::byte* x, const std::byte* y,
                       std::vector<double>& distances) {
  if (type == ElementType::f64) {
    distances_of(workers, width, reinterpret_cast<const double*>(x), reinterpret_cast<const double*>(y), distances);
  } else {
    distances_of(workers, width, reinterpret_cast<const float*>(x), reinterpret_cast<const float*>(y), distances);
  }
}

Work distance_work(std::int64_t rows, std::int64_t width, std::uint64_t row_bytes) {
  const double n = rows;
  return {n * (3.0 * static_cast<double>(width) + 2), 2 * n * static_cast<double>(row_bytes), 8 * n};
}

Work choice_work(std::int64_t rows, std::int64_t slots) {
  const auto n = static_cast<double>(rows), s = static_cast<double>(slots);
  // Each slot looks up a distance. Each slot to send, at most all, writes a place and a row.
  return {n + s, 8 * n + 8 * s, 12 * s, {8 * s, 8 * std::min(n, s), 8 * n, 8}};
}

}  // namespace strobe
