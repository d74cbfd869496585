// Collectives over MPI's non-blocking ones. Returns the same bits as communicator `local`: MPI only moves data, sums
// are added here in rank order. In addition to the data, each collective exchanges a summary of itself between all
// pairs; its completion is the moment when all ranks have entered, and it is compared before the data is looked at.
// Cost: all_reduce up to 4 MiB (over all ranks) gathers everything, beyond that each rank adds its share: 2 E (P-1)/P
// bytes sent and E bytes of scratch per rank. Scratch is accounted on the rank's device.
#include "backends/mpi/operation.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "backends/mpi/mpi_call.hpp"
#include "backends/ordered_sum.hpp"

namespace strobe::mpi {
namespace {

constexpr int summary_bytes = sizeof(CallSummary);

/// Stand for buffers that send or receive nothing. Open MPI takes equal addresses for MPI_IN_PLACE, and parts
/// of one tensor may begin at one place.
std::byte nothing_sent, nothing_received;

int from_sender(int tag) { return 2 * tag; }
int from_receiver(int tag) { return 2 * tag + 1; }

}  // namespace

void Operation::post() {
  is_message() ? post_message_summaries() : post_summaries();
  const Tensor& buffer = collective_.kind == CollectiveKind::receive ? collective_.receive : collective_.send;
  if (buffer.has_values()) post_data();
}

void Operation::post_summaries() {
  for (int peer = 0; peer < size_; ++peer) own_summaries_.push_back(summary_for(collective_, peer));
  summaries_.resize(size_);
  check(MPI_Ialltoall(own_summaries_.data(), summary_bytes, MPI_BYTE, summaries_.data(), summary_bytes, MPI_BYTE,
                      session_.headers, &entering_[0]),
        "MPI_Ialltoall");
}

void Operation::post_message_summaries() {
  const int tag = collective_.tag, peer = collective_.peer;
  if (tag < 0 || tag > (1 << 29)) throw Error(fmt::format("message tag {} is outside [0, 2^29]", tag));
  const bool sends = collective_.kind == CollectiveKind::send;
  own_summaries_.push_back(summary_for(collective_, peer));
  summaries_.resize(1);
  check(MPI_Irecv(summaries_.data(), summary_bytes, MPI_BYTE, peer, sends ? from_receiver(tag) : from_sender(tag),
                  session_.headers, &entering_[0]),
        "MPI_Irecv");
  check(MPI_Isend(own_summaries_.data(), summary_bytes, MPI_BYTE, peer, sends ? from_sender(tag) : from_receiver(tag),
                  session_.headers, &entering_[1]),
        "MPI_Isend");
}

bool Operation::arrived() { return test(entering_[0]) && test(entering_[1]); }

std::string Operation::mismatch() const {
  if (is_message()) return disagreement(collective_, rank_, summaries_[0], collective_.peer, members_);
  for (int peer = 0; peer < size_; ++peer) {
    std::string text = disagreement(collective_, rank_, summaries_[peer], peer, members_);
    if (!text.empty()) return text;
  }
  return "";
}

bool Operation::finished() {
  if (done_) return true;
  if (!test(data_)) return false;
  if (addends_.defined()) {
    add_up();
    addends_ = {};
    if (second_phase_) gather_shares();
    if (!test(data_)) return false;
  }
  release();
  done_ = true;
  return true;
}

void Operation::progress() {
  if (collective_.kind != CollectiveKind::all_to_all_v || seen_finished_ != 0) return;
  const bool complete = finished();  // always asked: this is what moves data
  if (seen_arrived_ == 0) {
    if (!arrived()) return;
    seen_arrived_ = device_.now();
  }
  if (complete) seen_finished_ = device_.now();
}

void Operation::post_data() {
  switch (collective_.kind) {
    case CollectiveKind::all_to_all_v:
      return post_exchange();
    case CollectiveKind::all_gather_v:
      return post_gather();
    case CollectiveKind::all_reduce:
      return post_all_reduce();
    case CollectiveKind::reduce_scatter:
      return post_reduce_scatter();
    case CollectiveKind::broadcast:
      return post_broadcast();
    case CollectiveKind::send:
    case CollectiveKind::receive:
      return post_message();
    case CollectiveKind::barrier:
      return;
  }
}

Operation::Unit Operation::unit_for(std::int64_t rows, std::uint64_t row_bytes) {
  const std::int64_t bytes = row_bytes;
  if (bytes == 0 || rows <= most_bytes_per_count / bytes) return {};
  constexpr std::int64_t largest = std::numeric_limits<int>::max();
  if (rows > largest || bytes > largest) {
    throw Error(fmt::format("{}: {} rows of {} bytes are more than MPI can count",
                            collective_names[static_cast<int>(collective_.kind)], rows, bytes));
  }
  Unit unit{MPI_DATATYPE_NULL, bytes};
  check(MPI_Type_contiguous(static_cast<int>(bytes), MPI_BYTE, &unit.type), "MPI_Type_contiguous");
  types_.push_back(unit.type);
  check(MPI_Type_commit(&unit.type), "MPI_Type_commit");
  return unit;
}

int Operation::in_units(std::int64_t rows, std::uint64_t row_bytes, const Unit& unit) const {
  return static_cast<int>(rows * static_cast<std::int64_t>(row_bytes) / unit.bytes);
}

Operation::Parts& Operation::parts_for(const std::vector<PeerRows>& rows, std::uint64_t row_bytes) {
  std::int64_t end = 0;
  for (const PeerRows& part : rows) end = std::max(end, part.first + part.count);
  parts_.push_back(std::make_unique<Parts>());
  Parts& parts = *parts_.back();
  parts.unit = unit_for(end, row_bytes);
  for (const PeerRows& part : rows) {
    parts.counts.push_back(in_units(part.count, row_bytes, parts.unit));
    parts.offsets.push_back(in_units(part.first, row_bytes, parts.unit));
  }
  return parts;
}

void Operation::post_message() {
  const bool sends = collective_.kind == CollectiveKind::send;
  const Tensor& buffer = sends ? collective_.send : collective_.receive;
  const Unit unit = unit_for(buffer.rows(), buffer.row_bytes());
  const int count = in_units(buffer.rows(), buffer.row_bytes(), unit);
  const int peer = collective_.peer, tag = collective_.tag;
  if (sends) {
    check(MPI_Isend(buffer.raw(), count, unit.type, peer, tag, session_.messages, &data_), "MPI_Isend");
  } else {
    check(MPI_Irecv(buffer.raw(), count, unit.type, peer, tag, session_.messages, &data_), "MPI_Irecv");
  }
}

void Operation::post_exchange() {
  const Parts& out = parts_for(collective_.send_rows, collective_.send.row_bytes());
  const Parts& in = parts_for(collective_.receive_rows, collective_.receive.row_bytes());
  const auto none = [](const Parts& parts) {
    return std::all_of(parts.counts.begin(), parts.counts.end(), [](int count) { return count == 0; });
  };
  const std::byte* const from = none(out) ? &nothing_sent : collective_.send.raw();
  std::byte* const to = none(in) ? &nothing_received : collective_.receive.raw();
  check(MPI_Ialltoallv(from, out.counts.data(), out.offsets.data(), out.unit.type, to, in.counts.data(),
                       in.offsets.data(), in.unit.type, session_.data, &data_),
        "MPI_Ialltoallv");
}

void Operation::post_gather() {
  const Tensor& send = collective_.send;
  const Parts& in = parts_for(collective_.receive_rows, collective_.receive.row_bytes());
  const Unit unit = unit_for(send.rows(), send.row_bytes());
  const PeerRows own = collective_.receive_rows[rank_];
  const bool in_place = send.raw() == collective_.receive.slice_rows(own.first, own.count).raw();
  check(MPI_Iallgatherv(in_place ? MPI_IN_PLACE : send.raw(), in_units(send.rows(), send.row_bytes(), unit), unit.type,
                        collective_.receive.raw(), in.counts.data(), in.offsets.data(), in.unit.type, session_.data,
                        &data_),
        "MPI_Iallgatherv");
}

void Operation::post_broadcast() {
  const Tensor& buffer = collective_.send;
  const Unit unit = unit_for(buffer.rows(), buffer.row_bytes());
  check(MPI_Ibcast(buffer.raw(), in_units(buffer.rows(), buffer.row_bytes(), unit), unit.type, collective_.peer,
                   session_.data, &data_),
        "MPI_Ibcast");
}

std::vector<PeerRows> Operation::element_shares() const {
  std::vector<PeerRows> shares;
  for (int r = 0; r < size_; ++r) shares.push_back(even_share(collective_.send.elements(), size_, r));
  return shares;
}

void Operation::post_all_reduce() {
  const Tensor& buffer = collective_.send;
  const std::uint64_t ranks = size_;
  if (buffer.bytes() > most_gathered_bytes / ranks) {
    second_phase_ = true;
    return exchange_for_sum(element_shares(), element_bytes(buffer.type()));
  }
  const PartScope part(device_, MemoryPart::buffers);
  addends_ = device_.allocate(static_cast<std::int64_t>(buffer.bytes() * ranks), 1, ElementType::u8);
  const int bytes = static_cast<int>(buffer.bytes());
  check(MPI_Iallgather(buffer.raw(), bytes, MPI_BYTE, addends_.raw(), bytes, MPI_BYTE, session_.data, &data_),
        "MPI_Iallgather");
}

void Operation::post_reduce_scatter() { exchange_for_sum(collective_.send_rows, collective_.send.row_bytes()); }

/// Every rank gets its part of each rank's buffer, in rank order.
void Operation::exchange_for_sum(const std::vector<PeerRows>& send_parts, std::uint64_t row_bytes) {
  const std::int64_t own = send_parts[rank_].count;
  std::vector<PeerRows> received;
  for (int r = 0; r < size_; ++r) received.push_back({r * own, own});
  const PartScope part(device_, MemoryPart::buffers);
  addends_ = device_.allocate(own * size_ * static_cast<std::int64_t>(row_bytes), 1, ElementType::u8);
  const Parts& out = parts_for(send_parts, row_bytes);
  const Parts& in = parts_for(received, row_bytes);
  check(MPI_Ialltoallv(collective_.send.raw(), out.counts.data(), out.offsets.data(), out.unit.type, addends_.raw(),
                       in.counts.data(), in.offsets.data(), in.unit.type, session_.data, &data_),
        "MPI_Ialltoallv");
}

void Operation::add_up() {
  const Tensor& result = collective_.receive;
  const ElementType type = result.type();
  const std::uint64_t part_bytes = addends_.bytes() / static_cast<std::uint64_t>(size_);
  std::vector<const std::byte*> addends;
  for (int r = 0; r < size_; ++r) addends.push_back(addends_.raw() + static_cast<std::uint64_t>(r) * part_bytes);
  std::byte* sum = result.raw();
  if (second_phase_) {
    sum += static_cast<std::uint64_t>(even_share(result.elements(), size_, rank_).first) * element_bytes(type);
  }
  ordered_sum(collective_.reduction, type, addends, sum, static_cast<std::int64_t>(part_bytes / element_bytes(type)));
}

void Operation::gather_shares() {
  second_phase_ = false;
  const Tensor& result = collective_.receive;
  const Parts& all = parts_for(element_shares(), element_bytes(result.type()));
  check(MPI_Iallgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, result.raw(), all.counts.data(), all.offsets.data(),
                        all.unit.type, session_.second, &data_),
        "MPI_Iallgatherv");
}

void Operation::release() {
  for (MPI_Datatype& type : types_) check(MPI_Type_free(&type), "MPI_Type_free");
  types_.clear();
  parts_.clear();
}

}  // namespace strobe::mpi
