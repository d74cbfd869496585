#include "backends/device.hpp"

#include <cstring>
#include <limits>

#include "backends/matrix/host_csr.hpp"
#include "backends/matrix/matrix_use.hpp"
#include "backends/ordered_sum.hpp"

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

Device::Device(const DeviceRequest& request) : request_(request), numerics_(request.numerics) {
  account_->limit = request.memory_limit_bytes;
}

Tensor Device::allocate(std::int64_t rows, std::int64_t columns, ElementType type) {
  const std::size_t bytes = checked_bytes(rows, columns, type);
  const std::uint64_t taken = do_account(bytes);
  if (account_->limit != 0 && account_->live + taken > account_->limit) {
    throw OutOfMemory(rank(), bytes, account_->live, account_->limit);
  }
  std::byte* data = has_values() ? do_allocate(bytes + readable_tail_bytes) : nullptr;
  account_->live += taken;
  account_->peak = std::max(account_->peak, account_->live);
  auto* storage = new Storage{data, bytes};
  const auto deleter = [account = account_, release = do_deleter(), taken](Storage* s) {
    account->live -= taken;
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

void Device::sum_values(ElementType type, const std::vector<const std::byte*>& addends, std::byte* sum,
                        std::int64_t elements) {
  ordered_sum(type, addends, sum, elements);
}

bool Device::move_out(const Tensor& tensor, void* host) {
  do_transfer(tensor.bytes());
  if (!tensor.has_values()) return false;
  if (tensor.bytes() != 0) do_copy(host, tensor.raw(), tensor.bytes());
  return true;
}

}  // namespace strobe
