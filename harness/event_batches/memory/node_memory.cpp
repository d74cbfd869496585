#include "harness/event_batches/memory/node_memory.hpp"

#include <algorithm>
#include <cstring>

#include "backends/host/gather_rows.hpp"
#include "backends/host/host_work.hpp"
#include "harness/schedule/host_values.hpp"

namespace strobe {
namespace {

std::vector<double> doubles(const std::byte* data, std::int64_t count, ElementType type) {
  std::vector<double> values(data == nullptr ? 0 : count);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = type == ElementType::f64 ? reinterpret_cast<const double*>(data)[i]
                                         : static_cast<double>(reinterpret_cast<const float*>(data)[i]);
  }
  return values;
}

class DeviceMemory final : public NodeMemory {
 public:
  DeviceMemory(Device& device, std::int64_t vertices, std::int64_t width)
      : device_(device), memory_(device.allocate(vertices, width)), mails_(device.allocate(vertices, 2 * width)) {}

  void reset() override {
    device_.run(Fill{memory_, 0.0});
    device_.run(Fill{mails_, 0.0});
  }

  MemoryRows read(const SharedDraw& drawn, const MemoryLists& lists) override {
    const std::int64_t count = lists.vertices.rows(), width = memory_.columns();
    MemoryRows rows{device_.allocate(count, width), device_.allocate(drawn->mails, 2 * width)};
    device_.run(CopyRows{memory_, rows.memory, lists.vertices, {}, count, 0, 0, width, false});
    const Tensor with_mail = lists.vertices.slice_rows(0, drawn->mails);
    device_.run(CopyRows{mails_, rows.mail, with_mail, {}, drawn->mails, 0, 0, 2 * width, false});
    return rows;
  }

  void write(const SharedDraw&, const MemoryLists& lists, const Tensor& updated) override {
    const std::int64_t count = lists.written.rows(), width = memory_.columns();
    const Tensor mails = make_mails(device_, lists, updated);
    // Gather the updated rows, then scatter them to their vertices.
    const Tensor own = device_.allocate(count, width);
    device_.run(CopyRows{updated, own, lists.own_rows, {}, count, 0, 0, width, false});
    device_.run(CopyRows{own, memory_, {}, lists.written, count, 0, 0, width, false});
    device_.run(CopyRows{mails, mails_, {}, lists.written, count, 0, 0, 2 * width, false});
  }

  std::vector<double> memory() override { return values(memory_); }
  std::vector<double> mails() override { return values(mails_); }
  void restore(const std::vector<double>& memory, const std::vector<double>& mails) override {
    for (const auto& [from, to] : {std::pair{&memory, &memory_}, {&mails, &mails_}}) {
      const Tensor rows = vector_on(device_, *from).view(0, to->rows(), to->columns());
      device_.run(CopyRows{rows, *to, {}, {}, to->rows(), 0, 0, to->columns(), false});
    }
  }

 private:
  std::vector<double> values(const Tensor& tensor) {
    std::vector<std::byte> raw(tensor.bytes());
    if (!device_.move_out(tensor, raw.data())) return {};
    return doubles(raw.data(), tensor.elements(), tensor.type());
  }

  Device& device_;
  Tensor memory_, mails_;
};

/// One array of host memory, and the buffers for its transfers.
struct StreamedRows {
  HostMemory rows;  // [N, width]
  std::uint64_t row_bytes = 0;
  HostMemory in, out;  // grow to the largest batch
};

/// The host gathers rows before they stream in, and scatters rows after they stream out. Host tasks run in the order of
/// their submission, so a read sees every earlier write.
class HostSideMemory final : public NodeMemory {
 public:
  HostSideMemory(Device& device, std::int64_t vertices, std::int64_t width) : device_(device), vertices_(vertices) {
    const std::uint64_t element = element_bytes(device.precision());
    for (auto [rows, columns] : {std::pair{&memory_, width}, {&mails_, 2 * width}}) {
      rows->row_bytes = static_cast<std::uint64_t>(columns) * element;
      rows->rows = device.allocate_host(static_cast<std::uint64_t>(vertices) * rows->row_bytes);
    }
  }

  void reset() override {
    for (StreamedRows* rows : {&memory_, &mails_}) {
      HostWork work;
      work.name = "reset_memory";
      work.serial = true;
      work.work = {0, 0, static_cast<double>(rows->rows.bytes())};
      work.body = [memory = rows->rows](Workers&) {
        if (memory.raw() != nullptr) std::memset(memory.raw(), 0, memory.bytes());
      };
      written_ = device_.run_on_host(std::move(work));
    }
  }

  MemoryRows read(const SharedDraw& drawn, const MemoryLists&) override {
    return {bring(memory_, drawn, static_cast<std::int64_t>(drawn->vertices.size())),
            bring(mails_, drawn, drawn->mails)};
  }

  void write(const SharedDraw& drawn, const MemoryLists& lists, const Tensor& updated) override {
    const std::int64_t count = drawn->written.size();
    const Tensor mails = make_mails(device_, lists, updated);
    const Tensor own = device_.allocate(count, updated.columns());
    device_.run(CopyRows{updated, own, lists.own_rows, {}, count, 0, 0, updated.columns(), false});
    take(memory_, own, drawn);
    take(mails_, mails, drawn);
  }

  std::vector<double> memory() override { return values(memory_); }
  std::vector<double> mails() override { return values(mails_); }
  void restore(const std::vector<double>& memory, const std::vector<double>& mails) override {
    device_.await(written_);
    for (const auto& [from, to] : {std::pair{&memory, &memory_}, {&mails, &mails_}}) {
      for (std::size_t i = 0; i < from->size(); ++i) {
        if (device_.precision() == ElementType::f64)
          to->rows.data<double>()[i] = (*from)[i];
        else
          to->rows.data<float>()[i] = static_cast<float>((*from)[i]);
      }
    }
  }

 private:
  HostMemory& room(HostMemory& buffer, std::uint64_t bytes) {
    if (buffer.bytes() < bytes) {
      device_.await(written_);  // no transfer uses the old buffer after this
      device_.synchronize();
      const PartScope part(device_, MemoryPart::buffers);
      buffer = device_.allocate_host(bytes + bytes / 2);
    }
    return buffer;
  }

  Tensor bring(StreamedRows& from, const SharedDraw& drawn, std::int64_t count) {
    const std::int64_t columns = from.row_bytes / element_bytes(device_.precision());
    const Tensor to = device_.allocate(count, columns);
    const DeviceEvent free = device_.record(Stream::compute);
    const HostMemory& buffer = room(from.in, to.bytes());
    const HostGather gather{from.rows.raw(),        vertices_, static_cast<std::int64_t>(from.row_bytes),
                            drawn->vertices.data(), count,     buffer.raw()};
    HostWork work = host_work(gather);
    work.body = nullptr;
    if (buffer.raw() != nullptr)
      work.body = [gather, drawn, rows = from.rows, buffer](Workers& workers) { gather.run(workers); };
    work.after = {from_moved_};
    const DeviceEvent gathered = device_.run_on_host(std::move(work));
    from_moved_ = device_.start_stream_in(buffer.slice(0, to.bytes()), to, {gathered, free});
    device_.wait(Stream::compute, from_moved_);
    return to;
  }

  void take(StreamedRows& to, const Tensor& rows, const SharedDraw& drawn) {
    const HostMemory& buffer = room(to.out, rows.bytes());
    const DeviceEvent out = device_.start_move_out(rows, buffer.slice(0, rows.bytes()), {written_});
    device_.wait(Stream::compute, out);  // so that the memory of `rows` is not reused before the copy
    HostWork work;
    work.name = "write_memory";
    work.serial = true;
    const double bytes = rows.bytes();
    work.work = {0, bytes, bytes,
                 Gather{bytes, bytes, static_cast<double>(to.rows.bytes()), static_cast<double>(to.row_bytes)}};
    work.after = {out};
    if (buffer.raw() != nullptr) {
      work.body = [buffer, rows = to.rows, drawn, size = to.row_bytes](Workers&) {
        for (std::size_t i = 0; i < drawn->written.size(); ++i) {
          std::memcpy(rows.raw() + static_cast<std::uint64_t>(drawn->written[i]) * size, buffer.raw() + i * size, size);
        }
      };
    }
    written_ = device_.run_on_host(std::move(work));
  }

  std::vector<double> values(const StreamedRows& rows) {
    device_.await(written_);
    const std::uint64_t element = element_bytes(device_.precision());
    return doubles(rows.rows.raw(), static_cast<std::int64_t>(rows.rows.bytes() / element), device_.precision());
  }

  Device& device_;
  std::int64_t vertices_;
  StreamedRows memory_, mails_;
  DeviceEvent written_, from_moved_;
};

}  // namespace

Tensor make_mails(Device& device, const MemoryLists& lists, const Tensor& updated) {
  const std::int64_t count = lists.written.rows(), width = updated.columns();
  const Tensor mails = device.allocate(count, 2 * width);
  device.run(CopyRows{updated, mails, lists.own_rows, {}, count, 0, 0, width, false});
  device.run(CopyRows{updated, mails, lists.other_rows, {}, count, 0, width, width, false});
  return mails;
}

std::unique_ptr<NodeMemory> make_node_memory(Device& device, std::int64_t vertices, std::int64_t width, bool on_host) {
  if (on_host) return std::make_unique<HostSideMemory>(device, vertices, width);
  return std::make_unique<DeviceMemory>(device, vertices, width);
}

}  // namespace strobe
