#include "harness/full_batch/exchange/stale_rows.hpp"

#include <algorithm>
#include <cmath>

#include "backends/operations/operations_distance.hpp"
#include "core/errors.hpp"
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

using SubsetBytes = std::vector<std::uint8_t>;
using SubsetForm = SubsetHeader::Form;

constexpr std::int64_t rows_in_header = 64, wide_header = 8;

[[noreturn]] void refuse_subset(const char* what) { throw Error(std::string("stale rows: a header or list ") + what); }

std::int64_t bytes_of_bits(std::int64_t n) { return (n + 7) / 8; }

std::int64_t bytes_of_gap(std::int64_t gap) {
  std::int64_t bytes = 1;
  while (gap >>= 7) ++bytes;
  return bytes;
}

void append_gap(SubsetBytes& bytes, std::int64_t gap) {
  for (; gap >= 0x80; gap >>= 7) bytes.push_back(static_cast<std::uint8_t>(gap | 0x80));
  bytes.push_back(static_cast<std::uint8_t>(gap));
}

/// Visits the gap before each row, or before each row left out.
template <class Visit>
void for_gaps(std::int64_t n, std::span<const std::int32_t> rows, SubsetForm form, const Visit& visit) {
  std::int64_t earlier = -1;
  if (form == SubsetForm::sent) {
    for (const std::int64_t row : rows) visit(row - earlier - 1), earlier = row;
    return;
  }
  std::size_t next = 0;
  for (std::int64_t row = 0; row < n; ++row) {
    if (next < rows.size() && rows[next] == row) {
      ++next;
      continue;
    }
    visit(row - earlier - 1);
    earlier = row;
  }
}

void append_bits(SubsetBytes& bytes, std::int64_t n, std::span<const std::int32_t> rows) {
  const std::size_t first = bytes.size();
  bytes.resize(first + static_cast<std::size_t>(bytes_of_bits(n)));
  for (const std::int32_t row : rows) bytes[first + row / 8] |= static_cast<std::uint8_t>(1u << (row % 8));
}

void append_number(SubsetBytes& bytes, std::uint64_t number) {
  for (int i = 0; i < 4; ++i) bytes.push_back(static_cast<std::uint8_t>(number >> (8 * i)));
}

std::int64_t number_at(std::span<const std::uint8_t> bytes, std::size_t at) {
  std::uint32_t number = 0;
  for (std::size_t i = 0; i < 4; ++i) number |= static_cast<std::uint32_t>(bytes[at + i]) << (8 * i);
  return number;
}

/// The form with the fewest bytes.
SubsetHeader form_of_fewest_bytes(std::int64_t n, std::int64_t count, std::int64_t sent, std::int64_t omitted) {
  if (count == 0 || count == n) return {count, 0, SubsetForm::bits};
  SubsetHeader header{count, bytes_of_bits(n), SubsetForm::bits};
  if (sent < header.list_bytes) header = {count, sent, SubsetForm::sent};
  if (omitted < header.list_bytes) header = {count, omitted, SubsetForm::omitted};
  return header;
}

std::vector<std::int32_t> rows_of_bits(std::int64_t n, std::span<const std::uint8_t> bytes) {
  std::vector<std::int32_t> rows;
  for (std::int64_t row = 0; row < 8 * static_cast<std::int64_t>(bytes.size()); ++row) {
    if ((bytes[row / 8] >> (row % 8) & 1) == 0) continue;
    if (row >= n) refuse_subset("names a row past the last");
    rows.push_back(static_cast<std::int32_t>(row));
  }
  return rows;
}

std::vector<std::int32_t> rows_of_gaps(std::int64_t n, std::span<const std::uint8_t> bytes) {
  std::vector<std::int32_t> rows;
  std::int64_t earlier = -1, gap = 0;
  int shift = 0;
  for (const std::uint8_t byte : bytes) {
    gap |= static_cast<std::int64_t>(byte & 0x7f) << shift;
    shift += 7;
    if ((byte & 0x80) != 0 && shift < 35) continue;
    earlier += gap + 1;
    if (earlier >= n) refuse_subset("names a row past the last");
    rows.push_back(static_cast<std::int32_t>(earlier));
    gap = shift = 0;
  }
  if (shift != 0) refuse_subset("ends within a number");
  return rows;
}

std::vector<std::int32_t> rows_left_out(std::int64_t n, std::span<const std::int32_t> rows) {
  std::vector<std::int32_t> others;
  std::size_t next = 0;
  for (std::int64_t row = 0; row < n; ++row) {
    if (next < rows.size() && rows[next] == row) {
      ++next;
    } else {
      others.push_back(static_cast<std::int32_t>(row));
    }
  }
  return others;
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
  // Each slot looks up a distance. Each slot to send, at most all, writes a place and a row, and the distance to the
  // place before is computed. Subsets take at most one bit for each slot.
  return {n + 2 * s, 8 * n + 8 * s, 12 * s + s / 8, {8 * s, 8 * std::min(n, s), 8 * n, 8}};
}

std::int64_t subset_header_bytes(std::int64_t n) { return std::min(wide_header, bytes_of_bits(n)); }

void encode_subset(std::int64_t n, std::span<const std::int32_t> rows, SubsetBytes& headers, SubsetBytes& lists) {
  if (n <= rows_in_header) return append_bits(headers, n, rows);
  std::int64_t sent = 0, omitted = 0;
  for_gaps(n, rows, SubsetForm::sent, [&](std::int64_t gap) { sent += bytes_of_gap(gap); });
  for_gaps(n, rows, SubsetForm::omitted, [&](std::int64_t gap) { omitted += bytes_of_gap(gap); });
  const SubsetHeader header = form_of_fewest_bytes(n, static_cast<std::int64_t>(rows.size()), sent, omitted);
  append_number(headers, static_cast<std::uint64_t>(header.count));
  append_number(headers, 4 * static_cast<std::uint64_t>(header.list_bytes) + static_cast<std::uint64_t>(header.form));
  if (header.list_bytes == 0) return;
  if (header.form == SubsetForm::bits) return append_bits(lists, n, rows);
  for_gaps(n, rows, header.form, [&](std::int64_t gap) { append_gap(lists, gap); });
}

SubsetHeader decode_subset_header(std::int64_t n, std::span<const std::uint8_t> header) {
  if (static_cast<std::int64_t>(header.size()) != subset_header_bytes(n)) refuse_subset("has another length");
  if (n <= rows_in_header) return {static_cast<std::int64_t>(rows_of_bits(n, header).size()), 0, SubsetForm::bits};
  const std::int64_t packed = number_at(header, 4);
  const SubsetHeader read{number_at(header, 0), packed / 4, static_cast<SubsetForm>(packed % 4)};
  if (read.count > n || read.form > SubsetForm::omitted || read.list_bytes > bytes_of_bits(n))
    refuse_subset("announces more than there is");
  return read;
}

std::vector<std::int32_t> decode_subset(std::int64_t n, std::span<const std::uint8_t> header,
                                        std::span<const std::uint8_t> list) {
  const SubsetHeader read = decode_subset_header(n, header);
  if (static_cast<std::int64_t>(list.size()) != read.list_bytes) refuse_subset("has another length");
  std::vector<std::int32_t> rows;
  if (n <= rows_in_header) {
    rows = rows_of_bits(n, header);
  } else if (list.empty()) {
    if (read.count == n) rows = rows_left_out(n, {});
  } else if (read.form == SubsetForm::bits) {
    rows = rows_of_bits(n, list);
  } else {
    rows = rows_of_gaps(n, list);
    if (read.form == SubsetForm::omitted) rows = rows_left_out(n, rows);
  }
  if (static_cast<std::int64_t>(rows.size()) != read.count) refuse_subset("names another number of rows");
  return rows;
}

SubsetHeader assumed_subset(std::int64_t n, std::int64_t count) {
  if (n <= rows_in_header) return {count, 0, SubsetForm::bits};
  const auto evenly = [n](std::int64_t rows) { return rows == 0 ? 0 : rows * bytes_of_gap((n + rows - 1) / rows - 1); };
  return form_of_fewest_bytes(n, count, evenly(count), evenly(n - count));
}

PeerSubsets encoded_subsets(const PeerParts& send, const MovedRows& moved) {
  PeerSubsets subsets;
  subsets.counts = moved.counts;
  std::size_t next = 0;
  for (std::size_t p = 0; p < send.size(); ++p) {
    const std::size_t before = subsets.lists.size(), count = static_cast<std::size_t>(moved.counts[p]);
    encode_subset(send[p].count, std::span(moved.places).subspan(next, count), subsets.headers, subsets.lists);
    subsets.list_bytes.push_back(static_cast<std::int64_t>(subsets.lists.size() - before));
    next += count;
  }
  return subsets;
}

PeerSubsets assumed_subsets(const PeerParts& peers, const std::vector<std::int64_t>& counts) {
  PeerSubsets subsets;
  subsets.counts = counts;
  for (std::size_t p = 0; p < peers.size(); ++p)
    subsets.list_bytes.push_back(assumed_subset(peers[p].count, counts[p]).list_bytes);
  return subsets;
}

PeerSubsets announced_subsets(const PeerParts& peers, SubsetBytes headers) {
  PeerSubsets subsets;
  subsets.headers = std::move(headers);
  std::size_t next = 0;
  for (const PeerPart& peer : peers) {
    const auto bytes = static_cast<std::size_t>(subset_header_bytes(peer.count));
    const SubsetHeader header = decode_subset_header(peer.count, std::span(subsets.headers).subspan(next, bytes));
    subsets.counts.push_back(header.count);
    subsets.list_bytes.push_back(header.list_bytes);
    next += bytes;
  }
  return subsets;
}

std::vector<std::int64_t> decoded_slots(const PeerParts& peers, const PeerSubsets& subsets) {
  std::vector<std::int64_t> slots;
  std::size_t header = 0, list = 0;
  for (std::size_t p = 0; p < peers.size(); ++p) {
    const auto bytes = static_cast<std::size_t>(subset_header_bytes(peers[p].count));
    const auto listed = static_cast<std::size_t>(subsets.list_bytes[p]);
    for (const std::int32_t row : decode_subset(peers[p].count, std::span(subsets.headers).subspan(header, bytes),
                                                std::span(subsets.lists).subspan(list, listed)))
      slots.push_back(peers[p].first + row);
    header += bytes;
    list += listed;
  }
  return slots;
}

}  // namespace strobe
