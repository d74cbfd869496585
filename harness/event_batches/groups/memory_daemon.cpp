#include "harness/event_batches/groups/memory_daemon.hpp"

#include <fmt/format.h>

#include <cstring>
#include <optional>

#include "backends/host/gather_rows.hpp"
#include "backends/host/host_work.hpp"
#include "core/errors.hpp"

namespace strobe {
namespace {

/// One copy of the memory and its mails. Without values it has no data, and a simulation only counts the time.
class MemoryCopy {
 public:
  explicit MemoryCopy(const MemoryShape& shape) : shape_(shape) {
    if (!shape.values) return;
    memory_.resize(static_cast<std::size_t>(shape.vertices) * shape.row_bytes());
    mails_.resize(2 * memory_.size());
  }

  void reset(HelperPost& post) {
    HostWork work{"reset_memory", {0, 0, 3 * all_bytes()}, 0, {}, {}};
    work.serial = true;
    work.body = [this](Workers&) {
      std::fill(memory_.begin(), memory_.end(), std::byte{0});
      std::fill(mails_.begin(), mails_.end(), std::byte{0});
    };
    post.run(std::move(work));
  }

  void read(HelperPost& post, std::size_t channel, const MemoryRequestHeader& header) {
    const std::int64_t* const rows = list_of(post.request(channel));
    const std::uint64_t bytes = shape_.row_bytes();
    std::byte* const out = memory_.empty() ? nullptr : post.answer(channel).raw();
    const HostGather states{memory_.data(), shape_.vertices, static_cast<std::int64_t>(bytes),
                            rows,           header.vertices, out};
    std::byte* const mail_out = out == nullptr ? nullptr : out + static_cast<std::uint64_t>(header.vertices) * bytes;
    const HostGather mails{mails_.data(), shape_.vertices, static_cast<std::int64_t>(2 * bytes),
                           rows,          header.mails,    mail_out};
    for (const HostGather& gather : {states, mails}) {
      HostWork work = host_work(gather);
      work.name = "read_memory";
      if (out == nullptr) work.body = nullptr;
      post.run(std::move(work));
    }
  }

  void write(HelperPost& post, std::size_t channel, const MemoryRequestHeader& header) {
    const std::uint64_t count = header.vertices;
    const double bytes = 3 * count * shape_.row_bytes();
    HostWork work{"write_memory",
                  {0, bytes, bytes, Gather{bytes, bytes, 3 * all_bytes(), static_cast<double>(shape_.row_bytes())}},
                  0,
                  {},
                  {}};
    work.serial = true;
    if (!memory_.empty()) {
      work.body = [this, request = post.request(channel), count](Workers&) {
        const std::int64_t* const rows = list_of(request);
        const std::byte* const states = rows_of(request, count);
        const std::uint64_t row = shape_.row_bytes();
        for (std::uint64_t w = 0; w < count; ++w) {
          std::memcpy(memory_.data() + static_cast<std::uint64_t>(rows[w]) * row, states + w * row, row);
          std::memcpy(mails_.data() + static_cast<std::uint64_t>(rows[w]) * 2 * row, states + (count + 2 * w) * row,
                      2 * row);
        }
      };
    }
    post.run(std::move(work));
  }

  void give(HelperPost& post, std::size_t channel) {
    if (memory_.empty()) return;
    std::byte* const out = post.answer(channel).raw();
    std::copy(memory_.begin(), memory_.end(), out);
    std::copy(mails_.begin(), mails_.end(), out + memory_.size());
  }

  void take(HelperPost& post, std::size_t channel) {
    if (memory_.empty()) return;
    const std::byte* const in = post.request(channel).raw() + sizeof(MemoryRequestHeader);
    std::copy(in, in + memory_.size(), memory_.begin());
    std::copy(in + memory_.size(), in + memory_.size() + mails_.size(), mails_.begin());
  }

 private:
  double all_bytes() const { return static_cast<double>(shape_.vertices) * static_cast<double>(shape_.row_bytes()); }
  static const std::int64_t* list_of(const HostMemory& request) {
    return reinterpret_cast<const std::int64_t*>(request.raw() + sizeof(MemoryRequestHeader));
  }
  static const std::byte* rows_of(const HostMemory& request, std::uint64_t vertices) {
    return request.raw() + request_rows_at(static_cast<std::int64_t>(vertices));
  }

  MemoryShape shape_;
  std::vector<std::byte> memory_, mails_;
};

MemoryRequestHeader header_of(HelperPost& post, std::size_t channel) {
  MemoryRequestHeader header;
  std::memcpy(&header, post.request(channel).raw(), sizeof header);
  return header;
}

/// Serves the reads of a batch's trainers, then their writes. Returns false when a trainer has ended.
bool serve_batch(HelperPost& post, const TrainingGroups& groups, std::int64_t sequence, MemoryCopy& copy) {
  const std::int64_t first = sequence % groups.j * groups.i;
  for (std::int64_t trainer = first; trainer < first + groups.i; ++trainer) {
    for (std::int64_t set = 0; set < groups.j; ++set) {
      const std::size_t channel = read_channel(groups, trainer, set);
      if (!post.await_request(channel, Patience::limited)) return false;
      copy.read(post, channel, header_of(post, channel));
      post.give_answer(channel);
    }
  }
  for (std::int64_t trainer = first; trainer < first + groups.i; ++trainer) {
    const std::size_t channel = write_channel(groups, trainer);
    if (!post.await_request(channel, Patience::limited)) return false;
    copy.write(post, channel, header_of(post, channel));
    post.give_answer(channel);
  }
  return true;
}

void keep_memory(HelperPost& post, const TrainingGroups& groups, const MemoryShape& shape) {
  MemoryCopy copy(shape);
  std::optional<MemoryCopy> evaluated;  // made when ranks evaluate in parts
  while (post.await_request(leader_channel, Patience::unlimited)) {
    const MemoryRequestHeader header = header_of(post, leader_channel);
    if (header.command == MemoryRequestHeader::give) copy.give(post, leader_channel);
    if (header.command == MemoryRequestHeader::take) copy.take(post, leader_channel);
    post.give_answer(leader_channel);
    if (header.command != MemoryRequestHeader::begin) continue;
    if (header.evaluates != 0 && !evaluated) evaluated.emplace(shape);
    MemoryCopy& now = header.evaluates != 0 ? *evaluated : copy;
    if (header.resets != 0) now.reset(post);
    if (!serve_batch(post, groups, header.sequence, now)) return;
  }
}

}  // namespace

std::uint64_t request_rows_at(std::int64_t vertices) {
  return sizeof(MemoryRequestHeader) + static_cast<std::uint64_t>(vertices) * sizeof(std::int64_t);
}

std::size_t read_channel(const TrainingGroups& groups, std::int64_t trainer, std::int64_t set) {
  return 1 + static_cast<std::size_t>(trainer * (groups.j + 1) + set);
}

std::size_t write_channel(const TrainingGroups& groups, std::int64_t trainer) {
  return read_channel(groups, trainer, groups.j);
}

HelperRequest memory_daemon(const TrainingGroups& groups, std::int64_t copy, const MemoryShape& shape, int threads) {
  HelperRequest helper;
  helper.name = fmt::format("memory-daemon-{}", copy);
  helper.threads = threads;
  const std::uint64_t rows = 3 * shape.row_bytes();  // a row of memory and one of mails
  const std::uint64_t whole = static_cast<std::uint64_t>(shape.vertices) * rows;
  const int leader = static_cast<int>(copy * groups.in_group());
  const std::uint64_t carried = shape.values ? whole : 0;
  helper.channels.push_back({"leader", leader, sizeof(MemoryRequestHeader) + carried, carried});
  const std::uint64_t written = static_cast<std::uint64_t>(shape.write_rows) * rows;
  for (std::int64_t trainer = 0; trainer < groups.in_group(); ++trainer) {
    const int rank = leader + static_cast<int>(trainer);
    for (std::int64_t set = 0; set < groups.j; ++set)
      helper.channels.push_back({fmt::format("read{}", set), rank, request_rows_at(shape.read_rows),
                                 static_cast<std::uint64_t>(shape.read_rows) * rows});
    helper.channels.push_back({"write", rank, request_rows_at(shape.write_rows) + written, 0});
  }
  helper.program = [groups, shape](HelperPost& post) { keep_memory(post, groups, shape); };
  return helper;
}

std::uint64_t bytes_of_copy(const TrainingGroups& groups, const MemoryShape& shape) {
  MemoryShape kept = shape;
  kept.values = true;
  std::uint64_t bytes = 3 * static_cast<std::uint64_t>(shape.vertices) * shape.row_bytes();  // memory, and mails of 2 d
  for (const ChannelShape& channel : memory_daemon(groups, 0, kept, 1).channels)
    bytes += channel.request_bytes + channel.answer_bytes;
  return bytes;
}

}  // namespace strobe
