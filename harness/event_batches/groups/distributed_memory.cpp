#include "harness/event_batches/groups/distributed_memory.hpp"

#include <numeric>
#include <utility>

namespace strobe {
namespace {

std::int64_t sum(const std::vector<std::int64_t>& counts) {
  return std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
}

/// The first row of each node when rows are sorted by node from `first` on. Node `skipped` has no rows there.
std::vector<std::int64_t> places_of(const std::vector<std::int64_t>& counts, std::int64_t first,
                                    std::int64_t skipped = -1) {
  std::vector<std::int64_t> places;
  for (std::size_t node = 0; node < counts.size(); ++node) {
    places.push_back(first);
    if (static_cast<std::int64_t>(node) != skipped) first += counts[node];
  }
  return places;
}

void append(std::vector<std::int64_t>& to, const std::vector<std::int64_t>& list) {
  to.insert(to.end(), list.begin(), list.end());
}

/// The vertices that the sets of a batch read, by node, numbered within the node's part. Those with a mail come first.
std::vector<std::vector<std::int64_t>> vertices_by_node(const std::vector<SharedDraw>& drawn, std::int64_t nodes) {
  std::vector<std::vector<std::int64_t>> lists(nodes);
  for (const bool with_mail : {true, false}) {
    for (const SharedDraw& set : drawn) {
      const std::int64_t first = with_mail ? 0 : set->mails;
      const auto end = with_mail ? set->mails : static_cast<std::int64_t>(set->vertices.size());
      for (std::int64_t u = first; u < end; ++u) {
        const std::int64_t v = set->vertices[u];
        lists[v % nodes].push_back(v / nodes);
      }
    }
  }
  return lists;
}

/// Concatenates the first `with_mail` vertices of each list, which have a mail, and then the rest of each list. Lists
/// may be empty.
std::vector<std::int64_t> those_with_mail_first(const std::vector<std::vector<std::int64_t>>& lists,
                                                const std::vector<std::int64_t>& with_mail) {
  std::vector<std::int64_t> first, behind;
  for (std::size_t node = 0; node < lists.size(); ++node) {
    const auto split = lists[node].begin() + (lists[node].empty() ? 0 : with_mail[node]);
    first.insert(first.end(), lists[node].begin(), split);
    behind.insert(behind.end(), split, lists[node].end());
  }
  append(first, behind);
  return first;
}

}  // namespace

TrainingGroups daemons_of_nodes(const RemoteRows& remote) { return {remote.ranks_of_node(), 1, remote.nodes()}; }

MemoryShape shape_of_node(const MemoryShape& whole, const RemoteRows& remote, std::int64_t node) {
  MemoryShape shape = whole;
  shape.vertices = remote.vertices_of(node, whole.vertices);
  shape.read_rows = remote.most_read();
  shape.write_rows = remote.most_written();
  return shape;
}

DistributedMemory::DistributedMemory(Device& device, Communicator& communicator, std::shared_ptr<Communicator> column,
                                     const MemoryShape& whole, std::shared_ptr<const RemoteRows> remote, bool evaluates)
    : device_(device),
      remote_(std::move(remote)),
      rank_(communicator.rank()),
      node_(remote_->node_of(rank_)),
      column_(std::move(column)),
      shape_(shape_of_node(whole, *remote_, node_)),
      channels_(device, communicator, daemons_of_nodes(*remote_), shape_),
      evaluates_(evaluates) {}

void DistributedMemory::begin(std::int64_t sequence, bool resets) {
  sequence_ = sequence;
  channels_.begin(sequence, resets, evaluates_);
}

DistributedMemory::Counts DistributedMemory::counts_of(
    const std::function<std::int64_t(const RowsOfNode&)>& rows_of) const {
  Counts counts;
  for (std::int64_t node = 0; node < remote_->nodes(); ++node) {
    counts.asked.push_back(rows_of(remote_->rows(sequence_, rank_, node)));
    counts.given.push_back(rows_of(remote_->rows(sequence_, remote_->agent(rank_, node), node_)));
  }
  return counts;
}

void DistributedMemory::exchange(const Tensor& send, const std::vector<std::int64_t>& sends, const Tensor& receive,
                                 const std::vector<std::int64_t>& receives) {
  const std::vector<std::int64_t> from = places_of(sends, 0), to = places_of(receives, 0, node_);
  std::vector<PeerRows> send_rows, receive_rows;
  for (std::size_t node = 0; node < sends.size(); ++node) {
    const bool own = static_cast<std::int64_t>(node) == node_;
    send_rows.push_back({from[node], own ? 0 : sends[node]});
    receive_rows.push_back({to[node], own ? 0 : receives[node]});
  }
  column_->all_to_all_v(send, std::move(send_rows), receive, std::move(receive_rows), Traffic::memory);
}

Tensor DistributedMemory::list_on_device(const std::vector<std::int64_t>& list) const {
  const std::int64_t rows = list.size();
  return rows == 0 ? device_.allocate(0, 1, ElementType::i64) : device_.move_in(list.data(), rows, 1, ElementType::i64);
}

DistributedMemory::ListsByNode DistributedMemory::exchange_lists(const ListsByNode& own, const Counts& counts) {
  std::vector<std::int64_t> all;
  for (const std::vector<std::int64_t>& list : own) append(all, list);
  const std::size_t at = node_;
  const std::int64_t received = sum(counts.given) - counts.given[at];
  const PartScope part(device_, MemoryPart::buffers);
  const Tensor asked = device_.allocate(received, 1, ElementType::i64);
  exchange(list_on_device(all), counts.asked, asked, counts.given);
  std::vector<std::int64_t> values(received);
  ListsByNode lists(own.size());
  if (received > 0 && !device_.move_out(asked, values.data())) return lists;
  auto next = values.begin();
  for (std::size_t node = 0; node < lists.size(); ++node) {
    if (node == at) {
      lists[node] = own[node];
    } else {
      lists[node].assign(next, next + counts.given[node]);
      next += counts.given[node];
    }
  }
  return lists;
}

void DistributedMemory::ask_daemon(std::vector<std::int64_t> list, const Tensor& memory, const Tensor& mails) {
  TrainerChannel& from = channels_.read(0);
  const auto shared = std::make_shared<const std::vector<std::int64_t>>(std::move(list));
  const DeviceEvent asked =
      channels_.put_list(from, {MemoryRequestHeader::read, 0, 0, memory.rows(), mails.rows()}, shared, moved_);
  const DeviceEvent answered = from.ask({asked, moved_});
  const DeviceEvent free = device_.record(Stream::compute);
  moved_ = answered;
  if (memory.rows() > 0)
    moved_ = device_.start_stream_in(from.answer().slice(0, memory.bytes()), memory, {answered, free});
  if (mails.rows() > 0)
    moved_ = device_.start_stream_in(from.answer().slice(memory.bytes(), mails.bytes()), mails, {answered, free});
  device_.wait(Stream::compute, moved_);
}

std::vector<ComingRows> DistributedMemory::read(const std::vector<SharedDraw>& drawn, const std::vector<MemoryLists>&) {
  const Counts with = counts_of([](const RowsOfNode& rows) { return rows.all_mails(); });
  const Counts without = counts_of([](const RowsOfNode& rows) { return rows.all_vertices() - rows.all_mails(); });
  const Counts all = counts_of([](const RowsOfNode& rows) { return rows.all_vertices(); });
  const ListsByNode given = exchange_lists(vertices_by_node(drawn, remote_->nodes()), all);
  // The rows that this rank reads for itself and others come first, then received rows; in both, rows with mail first.
  const std::size_t at = node_;
  const std::int64_t given_with = sum(with.given), given_without = sum(without.given);
  const std::int64_t there = given_with + given_without;
  const std::int64_t got_with = sum(with.asked) - with.asked[at], got_without = sum(without.asked) - without.asked[at];
  const PartScope part(device_, MemoryPart::buffers);
  const Tensor memory = device_.allocate(there + got_with + got_without, shape_.width);
  const Tensor mails = device_.allocate(given_with + got_with, 2 * shape_.width);
  ask_daemon(those_with_mail_first(given, with.given), memory.slice_rows(0, there), mails.slice_rows(0, given_with));
  exchange(memory.slice_rows(0, given_with), with.given, memory.slice_rows(there, got_with), with.asked);
  exchange(memory.slice_rows(given_with, given_without), without.given,
           memory.slice_rows(there + got_with, got_without), without.asked);
  exchange(mails.slice_rows(0, given_with), with.given, mails.slice_rows(given_with, got_with), with.asked);
  return rows_of_sets(drawn, with, without, memory, mails);
}

std::vector<ComingRows> DistributedMemory::rows_of_sets(const std::vector<SharedDraw>& drawn, const Counts& with_mail,
                                                        const Counts& without, const Tensor& memory,
                                                        const Tensor& mails) const {
  const std::size_t at = node_;
  const std::int64_t given_with = sum(with_mail.given), there = given_with + sum(without.given);
  std::vector<std::int64_t> with_at = places_of(with_mail.asked, there, node_);
  std::vector<std::int64_t> without_at =
      places_of(without.asked, there + sum(with_mail.asked) - with_mail.asked[at], node_);
  with_at[at] = places_of(with_mail.given, 0)[at];
  without_at[at] = places_of(without.given, given_with)[at];
  std::vector<ComingRows> sets;
  for (const SharedDraw& set : drawn) {
    std::vector<std::int64_t> rows, mail_rows;
    for (std::size_t u = 0; u < set->vertices.size(); ++u) {
      const std::size_t node = set->vertices[u] % remote_->nodes();
      const bool has_mail = static_cast<std::int64_t>(u) < set->mails;
      rows.push_back(has_mail ? with_at[node]++ : without_at[node]++);
      // Received mails follow the `given_with` mails of the own daemon.
      if (has_mail) mail_rows.push_back(node == at ? rows.back() : rows.back() - there + given_with);
    }
    const std::int64_t count = rows.size();
    ComingRows& coming = sets.emplace_back();
    coming.rows = {device_.allocate(count, shape_.width), device_.allocate(set->mails, 2 * shape_.width)};
    if (count > 0)
      device_.run(CopyRows{memory, coming.rows.memory, list_on_device(rows), {}, count, 0, 0, shape_.width, false});
    if (set->mails > 0)
      device_.run(
          CopyRows{mails, coming.rows.mail, list_on_device(mail_rows), {}, set->mails, 0, 0, 2 * shape_.width, false});
  }
  return sets;
}

void DistributedMemory::write(const SharedDraw& drawn, const MemoryLists&, const Tensor& updated) {
  const Counts counts = counts_of([](const RowsOfNode& rows) { return rows.written; });
  const std::size_t at = node_;
  ListsByNode lists(counts.asked.size());
  std::vector<std::int64_t> own_rows, other_rows;
  for (std::size_t node = 0; drawn != nullptr && node < lists.size(); ++node) {
    for (std::size_t w = 0; w < drawn->written.size(); ++w) {
      const std::int64_t v = drawn->written[w];
      if (v % remote_->nodes() != static_cast<std::int64_t>(node)) continue;
      lists[node].push_back(v / remote_->nodes());
      own_rows.push_back(drawn->own_rows[w]), other_rows.push_back(drawn->other_rows[w]);
    }
  }
  const auto count = static_cast<std::int64_t>(own_rows.size()), width = shape_.width;
  const std::int64_t received = sum(counts.given) - counts.given[at];
  const PartScope part(device_, MemoryPart::buffers);
  Tensor own = device_.allocate(count, width), mails = device_.allocate(count, 2 * width);
  if (count > 0) {
    MemoryLists by_node;
    by_node.written = by_node.own_rows = list_on_device(own_rows);
    by_node.other_rows = list_on_device(other_rows);
    mails = make_mails(device_, by_node, updated);
    device_.run(CopyRows{updated, own, by_node.own_rows, {}, count, 0, 0, width, false});
  }
  const ListsByNode given = exchange_lists(lists, counts);
  const Tensor others = device_.allocate(received, width), other_mails = device_.allocate(received, 2 * width);
  exchange(own, counts.asked, others, counts.given);
  exchange(mails, counts.asked, other_mails, counts.given);
  std::vector<std::int64_t> list = given[at];
  for (std::size_t node = 0; node < given.size(); ++node) {
    if (node != at) append(list, given[node]);
  }
  const std::int64_t first = places_of(counts.asked, 0)[at], kept = counts.asked[at];
  tell_daemon(std::move(list), {own.slice_rows(first, kept), others}, {mails.slice_rows(first, kept), other_mails});
}

void DistributedMemory::tell_daemon(std::vector<std::int64_t> list, const std::vector<Tensor>& memory,
                                    const std::vector<Tensor>& mails) {
  TrainerChannel& to = channels_.write();
  const std::int64_t count = memory[0].rows() + memory[1].rows();
  const auto shared = std::make_shared<const std::vector<std::int64_t>>(std::move(list));
  std::vector<DeviceEvent> after{
      channels_.put_list(to, {MemoryRequestHeader::write, 0, 0, count, 0}, shared, channels_.written()),
      channels_.written()};
  std::uint64_t place = request_rows_at(count);
  for (const std::vector<Tensor>* kind : {&memory, &mails}) {
    for (const Tensor& rows : *kind) {
      if (rows.rows() > 0)
        after.push_back(device_.start_move_out(rows, to.request().slice(place, rows.bytes()), {channels_.written()}));
      place += rows.bytes();
    }
  }
  if (after.size() > 2) device_.wait(Stream::compute, after.back());  // no tensor is reused before its copy
  channels_.send_write(std::move(after));
}

}  // namespace strobe
