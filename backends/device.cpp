#include "backends/device.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "backends/host/host_work.hpp"
#include "backends/matrix/host_csr.hpp"
#include "backends/matrix/matrix_use.hpp"
#include "backends/ordered_sum.hpp"
#include "core/system/parallel.hpp"

namespace strobe {
namespace {

std::size_t checked_bytes(std::int64_t rows, std::int64_t columns, ElementType type) {
  const auto wide =
      static_cast<unsigned __int128>(rows) * static_cast<unsigned __int128>(columns) * element_bytes(type);
  if (rows < 0 || columns < 0 || wide > static_cast<unsigned __int128>(std::numeric_limits<std::int64_t>::max())) {
    throw Error("tensor shape overflows: " + std::to_string(rows) + " x " + std::to_string(columns));
  }
  return static_cast<std::size_t>(wide);
}

}  // namespace

Device::Device(const DeviceRequest& request, Numerics numerics) : request_(request), numerics_(numerics) {
  context_.numerics = numerics;
  account_->limit = request.memory_limit_bytes;
}

std::uint64_t Device::Account::live() const {
  std::uint64_t sum = 0;
  for (const auto& part : parts) sum += part.load(std::memory_order_relaxed);
  return sum;
}

void Device::Account::find_peak() {
  PerMemoryPart<std::uint64_t> now;
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < now.size(); ++i) sum += now[i] = parts[i].load(std::memory_order_relaxed);
  if (sum <= peak) return;
  peak = sum;
  peak_parts = now;
}

Tensor Device::allocate(std::int64_t rows, std::int64_t columns, ElementType type) {
  const std::size_t bytes = checked_bytes(rows, columns, type);
  const std::uint64_t taken = do_account(bytes);
  if (account_->limit != 0 && account_->live() + taken > account_->limit) {
    throw OutOfMemory(rank(), bytes, account_->live(), account_->limit);
  }
  std::byte* data = has_values() ? do_allocate(bytes + readable_tail_bytes) : nullptr;
  account_->add(part_, taken);
  auto* storage = new Storage{data, bytes, part_};
  const auto deleter = [account = account_, release = do_deleter(), taken](Storage* s) {
    account->parts[s->part] -= taken;
    if (s->data != nullptr) release(s->data);
    delete s;
  };
  return Tensor(std::shared_ptr<Storage>(storage, deleter), rows, columns, type);
}

Tensor Device::move_in(const void* host, std::int64_t rows, std::int64_t columns, ElementType type) {
  Tensor tensor = allocate(rows, columns, type);
  do_transfer(tensor.bytes());
  if (has_values() && host != nullptr && tensor.bytes() != 0) do_copy(tensor.raw(), host, tensor.bytes());
  return tensor;
}

void Device::stream_in(const void* host, const Tensor& to) {
  const std::uint64_t bytes = to.bytes();
  if (bytes == 0) return;
  const auto copy = [&] {
    if (has_values() && host != nullptr) do_copy(to.raw(), host, bytes);
  };
  if (has_own_memory()) {
    do_transfer(bytes);
    copy();
    return;
  }
  const double begin = do_begin(Stream::copy, "transfer");
  copy();
  const double end = do_end(Stream::copy, "transfer", {}, begin);
  spans_.append({"transfer", Phase::transfer, Stream::copy, Traffic::other, true, begin, end, {}, 0, bytes, 0});
}

void Device::prepare_in(Device& memory, SparseMatrix& a, const HostCsr& host, const MatrixUse& use) const {
  if (use.lasting && memory.has_values() && !host.has_entries) {
    throw Error("forms of a matrix that last are made from its entries on the host");
  }
  do_prepare(memory, a, host, use);
}

void Device::copy_values(void* to, const void* from, std::size_t bytes) { std::memcpy(to, from, bytes); }

void Device::sum_values(Reduction reduction, ElementType type, const std::vector<const std::byte*>& addends,
                        std::byte* sum, std::int64_t elements) {
  ordered_sum(reduction, type, addends, sum, elements);
}

bool Device::move_out(const Tensor& tensor, void* host) {
  do_transfer(tensor.bytes());
  if (!tensor.has_values()) return false;
  if (tensor.bytes() != 0) do_copy(host, tensor.raw(), tensor.bytes());
  return true;
}

HostMemory Device::counted(const HostMemory& memory, const std::shared_ptr<Account>& account) const {
  account->add(part_, memory.bytes());
  // Without values the pointer is null, but it counts for as long as it lives.
  const auto give_back = [memory, account, part = part_](std::byte*) { account->parts[part] -= memory.bytes(); };
  return {std::shared_ptr<std::byte>(memory.raw(), give_back), memory.bytes()};
}

HostMemory Device::allocate_host(std::uint64_t bytes) {
  const bool own = has_own_memory();
  const std::shared_ptr<Account>& account = own ? host_account_ : account_;
  if (!own && account->limit != 0 && account->live() + bytes > account->limit) {
    throw OutOfMemory(rank(), bytes, account->live(), account->limit);
  }
  return counted({has_values() ? do_allocate_host(bytes) : nullptr, bytes}, account);
}

std::shared_ptr<std::byte> Device::do_allocate_host(std::uint64_t bytes) {
  constexpr std::size_t page = 4096;
  void* const memory = std::aligned_alloc(page, (bytes + page) / page * page);
  if (memory == nullptr) throw OutOfMemory(rank(), bytes, live_bytes(), memory_limit_bytes());
  return {static_cast<std::byte*>(memory), [](std::byte* bytes_of) { std::free(bytes_of); }};
}

DeviceEvent Device::start_stream_in(const HostMemory& from, const Tensor& to, const std::vector<DeviceEvent>& after) {
  if (from.bytes() != to.bytes()) throw Error("start_stream_in: the tensor has another size than the host memory");
  return do_start_copy(from, to, Stream::copy, after);
}

DeviceEvent Device::start_move_out(const Tensor& from, const HostMemory& to, const std::vector<DeviceEvent>& after) {
  if (from.bytes() != to.bytes()) throw Error("start_move_out: the host memory has another size than the tensor");
  return do_start_copy(to, from, Stream::copy_back, after);
}

DeviceEvent Device::do_start_copy(const HostMemory& host, const Tensor& tensor, Stream stream,
                                  const std::vector<DeviceEvent>& after) {
  for (const DeviceEvent& event : after) wait(stream, event);
  const double begin = do_begin(stream, "transfer");
  if (tensor.has_values() && host.raw() != nullptr && host.bytes() != 0) {
    const bool in = stream == Stream::copy;
    std::memcpy(in ? tensor.raw() : host.raw(), in ? host.raw() : tensor.raw(), host.bytes());
  }
  const double end = do_end(stream, "transfer", {}, begin);
  spans_.append({"transfer", Phase::transfer, stream, Traffic::other, true, begin, end, {}, 0, host.bytes(), 0});
  return {end, nullptr, nullptr, Phase::transfer, "transfer"};
}

DeviceEvent Device::run_on_host(HostWork work) {
  std::vector<DeviceEvent> waits = take_host_waits();
  work.after.insert(work.after.end(), waits.begin(), waits.end());
  return do_run_on_host(std::move(work));
}

DeviceEvent Device::do_run_on_host(HostWork work) {
  if (work.body) {
    Workers workers(1);
    work.body(workers);
  }
  spans_.append({work.name, Phase::host, Stream::host, Traffic::other, false, 0, 0, work.work, 0, 0, 0});
  return {0, nullptr, nullptr, Phase::host, work.name};
}

void Device::do_when(const void*, std::vector<DeviceEvent>, Then then) { then(0, nullptr); }

void Device::wait(Stream stream, const DeviceEvent& event) {
  if (stream == Stream::host) {
    host_waits_.push_back(event);
  } else {
    do_wait(stream, event);
  }
}

void Device::await(const DeviceEvent& event) { do_await(event); }

bool Device::do_reached(const DeviceEvent& event) { return event.host == nullptr || event.host->come(); }

}  // namespace strobe
