// Device: memory, streams and a clock. A model and a strategy see only this. The device alone decides whether values
// exist (numerics) and whether time is real or virtual (clock).
#pragma once

#include <atomic>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "backends/event.hpp"
#include "backends/host/host_memory.hpp"
#include "backends/kernel.hpp"
#include "backends/operations/operations.hpp"
#include "backends/reduction.hpp"
#include "backends/span.hpp"
#include "backends/stage_rows.hpp"
#include "backends/tensor.hpp"
#include "core/registry.hpp"
#include "core/system/subnormals.hpp"

namespace strobe {

struct Cluster;    // backends/cluster.hpp
struct HostCsr;    // backends/matrix/host_csr.hpp
struct HostWork;   // backends/host/host_work.hpp
struct MatrixUse;  // backends/matrix/matrix_use.hpp

/// The settings of a device. `cluster` is null for real devices.
struct DeviceRequest {
  int rank = 0;
  int ranks = 1;
  bool values = true;  // whether a simulated device computes values; real devices always do
  ElementType precision = ElementType::f32;
  int threads = 1;                       // kernel threads of this rank
  int host_threads = 1;                  // workers that carry out each piece of its host work
  std::string kernel_variant;            // "" = the best kernels, "plain" = the reference kernels
  std::uint64_t memory_limit_bytes = 0;  // 0 = the device's own memory, unlimited on cpu
  std::shared_ptr<const Cluster> cluster;
  /// For `sim`: clusters in which the same program is timed as well (drawn_clusters.hpp).
  std::vector<std::shared_ptr<const Cluster>> draws = {};
  /// For `sim` on a machine whose ranks share cores: the average number of ranks that compute at the same moment, over
  /// the time in which any does. 0 = all ranks, always.
  double computing_ranks = 0;
};

/// A hook that needs the rank's thread between operations, such as data that only moves when a rank calls in.
class BetweenOperations {
 public:
  virtual ~BetweenOperations() = default;
  virtual void look_after() = 0;
};

/// One rank's device. Not thread-safe: used by its rank's thread (or fibre) only.
class Device {
 public:
  /// `numerics`: the family of kernels that computes its values.
  Device(const DeviceRequest& request, Numerics numerics);
  virtual ~Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  int rank() const { return request_.rank; }
  Numerics numerics() const { return numerics_; }
  /// The kernel variant that was asked for; empty: the best.
  const std::string& kernel_variant() const { return request_.kernel_variant; }
  bool has_values() const { return numerics_.id() != Numerics::none.id(); }
  ElementType precision() const { return request_.precision; }

  /// Device memory for [rows, columns], not initialised. Throws OutOfMemory over the limit.
  Tensor allocate(std::int64_t rows, std::int64_t columns, ElementType type);
  Tensor allocate(std::int64_t rows, std::int64_t columns) { return allocate(rows, columns, precision()); }

  /// Carries out one operation on `stream`, and leaves its span.
  template <class Op>
  void run(const Op& op, Stream stream = Stream::compute) {
    const Work work = op.work();
    const double begin = do_begin(stream, Op::name);
    double end = 0;
    try {
      if (has_values()) {
        const FlushSubnormals flush;
        Kernels<Op>::choose(numerics_, op, request_.kernel_variant).run(op, context_);
      }
      end = do_end(stream, Op::name, work, begin);
    } catch (...) {
      do_abandon();
      throw;
    }
    const bool blocking = stream == Stream::compute;
    const std::uint64_t live = account_->live();
    spans_.append({Op::name, Phase::compute, stream, Traffic::other, blocking, begin, end, work, 0, 0, 0, live});
    if (between_ != nullptr) between_->look_after();
  }

  /// Calls `hook` after every operation until the next call of this function; null: nothing. The hook must not run
  /// operations.
  void between_operations(BetweenOperations* hook) { between_ = hook; }

  /// Copies host values into device memory, on the copy stream; the compute stream waits for them. `host` may be null
  /// when the device holds no values. A device whose memory is the host's copies without a transfer span.
  Tensor move_in(const void* host, std::int64_t rows, std::int64_t columns, ElementType type);

  /// Copies host values into all of `to`, which is already allocated, on the copy stream; the compute stream waits for
  /// them. `host` may be null when the device holds no values. Leaves a transfer span with the bytes on every device: a
  /// device whose memory is the host's copies, and its span lasts as long as the copy.
  void stream_in(const void* host, const Tensor& to);

  /// Accounts for moving in `bytes` that already lie on the device from an earlier call, as a new transfer: used when a
  /// program streams the same constant input again each epoch. Does nothing on a device whose memory is the host's.
  void move_in_again(std::uint64_t bytes) { do_transfer_again(bytes); }

  /// Device values to the host. Returns false, leaving `host` alone, when the device holds no values.
  bool move_out(const Tensor& tensor, void* host);

  /// Host memory that this device can copy from and to asynchronously, not initialised; null without values.
  HostMemory allocate_host(std::uint64_t bytes);
  /// The same for existing memory, which stays as long as the result does.
  HostMemory pin_host(std::shared_ptr<std::byte> data, std::uint64_t bytes) { return do_pin(std::move(data), bytes); }
  /// Begins to copy `from` into all of `to`, on the copy stream, once all events in `after` have come. Nothing else may
  /// use `to` until then. Nobody waits: it returns the event of its end. Leaves a transfer span with the bytes. On a
  /// device whose memory is the host's the copy is made at once. Throws Error when sizes differ.
  DeviceEvent start_stream_in(const HostMemory& from, const Tensor& to, const std::vector<DeviceEvent>& after = {});
  /// The same in the other direction, on the stream `copy_back`. It copies all of `from` after everything that the
  /// compute stream has been given so far.
  DeviceEvent start_move_out(const Tensor& from, const HostMemory& to, const std::vector<DeviceEvent>& after = {});

  /// Gives work to the host stream of this rank, which runs in parallel with the device and the program, in the order
  /// given. Returns the event of its end. Leaves a span of phase `host` with name and work.
  DeviceEvent run_on_host(HostWork work);
  /// Calls `then` as soon as all events in `after` have come, on any thread. `seconds` is the time when they came; the
  /// exception says why one will never come, or is null. Calls with the same `order` follow each other. `then` must be
  /// short, and is no longer called after the device has ended.
  using Then = std::function<void(double seconds, std::exception_ptr)>;
  void when(const void* order, std::vector<DeviceEvent> after, Then then) {
    do_when(order, std::move(after), std::move(then));
  }

  DeviceEvent record(Stream stream) { return do_record(stream); }
  /// Nothing given to `stream` from now on begins before `event` has come. Time that compute loses to it counts for the
  /// event's phase. Waiting for host work or for a helper's answer also blocks the program.
  void wait(Stream stream, const DeviceEvent& event);
  /// Blocks the program, and compute with it, until `event` has come.
  void await(const DeviceEvent& event);
  /// Whether `event` has come by the time that the program has reached: by the wall clock, or by virtual time, which
  /// does not depend on the machine's load. Throws the reason if it can never come.
  bool reached(const DeviceEvent& event) { return do_reached(event); }
  /// Calls `look` now and then while this rank waits for the host; `look` may throw to end the wait. Null: nothing.
  void look_while_waiting(std::function<void()> look) { look_ = std::move(look); }
  /// Returns when all streams are idle; afterwards `now()` is the rank's time.
  void synchronize() { do_synchronize(); }
  /// Seconds on the rank's clock, after everything that the compute stream has been given. Only devices, communicators
  /// and the run loop's epoch boundaries ask.
  double now() { return do_now(); }
  /// The same in each of the request's draws; empty without any.
  std::vector<double> drawn_now() { return do_drawn_now(); }

  SpanRecorder& spans() { return spans_; }
  /// Counts of the current epoch; whoever measures the epoch sets them to zero.
  StageRows& stage_rows() { return stage_rows_; }

  /// For communicators whose ranks share a memory: copies values of this device's kind of memory, or reduces buffers to
  /// their sum or maximum in the order given (ordered_sum.hpp; `sum` may be one of the addends). Complete, for all
  /// ranks, when `now()` returns.
  virtual void copy_values(void* to, const void* from, std::size_t bytes);
  virtual void sum_values(Reduction reduction, ElementType type, const std::vector<const std::byte*>& addends,
                          std::byte* sum, std::int64_t elements);

  std::uint64_t live_bytes() const { return account_->live(); }
  std::uint64_t peak_bytes() const { return account_->peak; }
  /// The bytes of each part at the moment of the peak; their sum is `peak_bytes()`.
  const PerMemoryPart<std::uint64_t>& peak_parts() const { return account_->peak_parts; }
  void reset_peak() {
    account_->peak = host_account_->peak = 0;
    account_->peak_parts = host_account_->peak_parts = {};
    account_->find_peak();
    host_account_->find_peak();
  }
  /// Peak of the host memory for transfers that was allocated here; 0 when the accounted memory is the host's anyway.
  std::uint64_t host_peak_bytes() const { return host_account_->peak; }
  std::uint64_t memory_limit_bytes() const { return account_->limit; }
  /// The queue of a stream in the form that the calls of `runtime` take, for a library that submits work to it. Nothing
  /// if the device does not submit its work to a queue of that runtime.
  virtual std::optional<void*> native_queue(std::string_view /*runtime*/, Stream) const { return std::nullopt; }
  /// Bytes of the device's own memory; 0 for a device that has none.
  virtual std::uint64_t memory_bytes() const { return 0; }
  /// Whether the accounted memory is a device's own (true) or the host's (false).
  virtual bool has_own_memory() const { return false; }

  /// Adds to `a` the extra forms that this device's kernels need for `use`: a transpose, forms for narrow products, or
  /// nothing. `a` has its counts, offsets, column indices and values; its steps are those of `host`. A device that
  /// holds values needs the entries of `host` when the use is lasting. Cost O(non-zeros + rows) at most. Throws
  /// OutOfMemory, and Error when entries are missing.
  void prepare(SparseMatrix& a, const HostCsr& host, const MatrixUse& use) { prepare_in(*this, a, host, use); }
  /// The same in the memory of `memory`, a device that replaces this one. Without values it takes exactly the bytes
  /// that this device would take. It needs the entries on the host if `entries_decide`.
  void prepare_in(Device& memory, SparseMatrix& a, const HostCsr& host, const MatrixUse& use) const;
  /// Whether the prepared forms depend on the entries of a matrix, and not only on its counts and steps.
  virtual bool entries_decide(const MatrixUse&) const { return false; }
  /// Calibration records this so that `sim` can prepare in the same way. Whether transposed products are faster here
  /// with the transpose stored next to a sparse matrix (at the price of its memory) than by scattering.
  virtual bool wants_transpose() const { return false; }
  /// Calibration records this too; operations that keep more when such forms exist also read it. It is the width in
  /// bytes up to which narrow products are faster with forms made for them. Kernels for overlapping snapshots stored
  /// two at a time (paired_matrix.hpp) take rows of both steps within this width; rows by length
  /// (length_sorted_matrix.hpp) may have twice as much. 0: neither form makes products faster.
  virtual std::int64_t narrow_bytes() const { return 0; }
  /// Whether inputs in several parts, with listed rows or made by a narrow layer, are faster here when first joined:
  /// the inputs of recurrences, heads and dense layers with large weights. Otherwise kernels read the parts where they
  /// lie.
  virtual bool wants_joined_inputs() const { return false; }
  /// Whether spans must hold the time of each operation, as they do from the start. Otherwise a device whose clock
  /// costs time may measure operations that follow each other together and give each the same share.
  virtual void time_each_operation(bool) {}

 protected:
  KernelContext context_;
  void set_memory_limit(std::uint64_t bytes) { account_->limit = bytes; }
  /// (optional) Begins to copy between `host` memory, which must live until then, and a tensor on `stream`. For host
  /// devices: copies at once, and leaves a blocking span.
  virtual DeviceEvent do_start_copy(const HostMemory& host, const Tensor& tensor, Stream stream,
                                    const std::vector<DeviceEvent>& after);
  const DeviceRequest& request() const { return request_; }
  const std::function<void()>& look() const { return look_; }
  /// Returns, and forgets, the events that the next host work waits for in addition to its own list.
  std::vector<DeviceEvent> take_host_waits() { return std::exchange(host_waits_, {}); }

 private:
  friend class PartScope;
  /// Any thread may give memory back; only the rank's thread takes some.
  struct Account {
    PerMemoryPart<std::atomic<std::uint64_t>> parts{};
    std::uint64_t peak = 0, limit = 0;
    PerMemoryPart<std::uint64_t> peak_parts{};

    std::uint64_t live() const;
    void add(MemoryPart part, std::uint64_t bytes) {
      parts[part] += bytes;
      find_peak();
    }
    /// Each part is read once, so that the parts of a peak add up to it even if memory is given back meanwhile.
    void find_peak();
  };
  HostMemory counted(const HostMemory& memory, const std::shared_ptr<Account>& account) const;

  /// (optional) Adds forms to `a` in the memory of `memory`, which is this device or replaces it.
  virtual void do_prepare(Device& /*memory*/, SparseMatrix& /*a*/, const HostCsr& /*host*/,
                          const MatrixUse& /*use*/) const {}
  /// Raw memory of `bytes` (64-byte aligned), or null when the device holds no values. `bytes` ends with
  /// `readable_tail_bytes`, which host devices fill with zeros.
  virtual std::byte* do_allocate(std::size_t bytes) = 0;
  /// (optional) The bytes that an allocation of `bytes` takes from the device's memory; more when its pool rounds.
  virtual std::uint64_t do_account(std::uint64_t bytes) const { return bytes; }
  /// Returns memory; must be callable after the device is gone.
  virtual void (*do_deleter() const)(std::byte*) = 0;
  /// Time at which the next operation on the stream begins.
  virtual double do_begin(Stream stream, std::string_view name) = 0;
  /// Time at which the operation begun at `begin` ended. A device that learns times later sets them in the span that is
  /// appended next, at the latest when it synchronises.
  virtual double do_end(Stream stream, std::string_view name, const Work& work, double begin) = 0;
  /// (optional) The operation that do_begin began last has failed before its do_end: closes what do_begin opened.
  virtual void do_abandon() noexcept {}
  /// Moves `bytes` between host and device in time; appends the transfer span, unless memory is the host's.
  virtual void do_transfer(std::uint64_t bytes) = 0;
  /// (optional) The same for bytes that are already there.
  virtual void do_transfer_again(std::uint64_t bytes) { do_transfer(bytes); }
  /// Copies between host and device, in either direction. The host's side may be used again when it returns.
  virtual void do_copy(void* to, const void* from, std::size_t bytes) = 0;
  /// (optional) Host memory for do_start_copy; null without values.
  virtual std::shared_ptr<std::byte> do_allocate_host(std::uint64_t bytes);
  virtual HostMemory do_pin(std::shared_ptr<std::byte> data, std::uint64_t bytes) { return {std::move(data), bytes}; }
  /// (optional) For devices without a clock: does the work at once.
  virtual DeviceEvent do_run_on_host(HostWork work);
  virtual void do_when(const void* order, std::vector<DeviceEvent> after, Then then);
  virtual bool do_reached(const DeviceEvent& event);
  virtual void do_await(const DeviceEvent& event) { do_wait(Stream::compute, event); }
  virtual DeviceEvent do_record(Stream stream) = 0;
  virtual void do_wait(Stream stream, const DeviceEvent& event) = 0;
  virtual void do_synchronize() = 0;
  virtual double do_now() = 0;
  virtual std::vector<double> do_drawn_now() { return {}; }

  DeviceRequest request_;
  Numerics numerics_;
  MemoryPart part_ = MemoryPart::state;
  BetweenOperations* between_ = nullptr;
  SpanRecorder spans_;
  StageRows stage_rows_;
  std::shared_ptr<Account> account_ = std::make_shared<Account>();
  std::shared_ptr<Account> host_account_ = std::make_shared<Account>();
  std::vector<DeviceEvent> host_waits_;
  std::function<void()> look_;
};

/// Allocations of the device until the scope ends belong to `part`, unless a scope within it says otherwise.
/// Outside all scopes it belongs to `state`.
class PartScope {
 public:
  PartScope(Device& device, MemoryPart part) : device_(device), before_(std::exchange(device.part_, part)) {}
  ~PartScope() { device_.part_ = before_; }
  PartScope(const PartScope&) = delete;
  PartScope& operator=(const PartScope&) = delete;

 private:
  Device& device_;
  const MemoryPart before_;
};

struct DeviceTag {
  static constexpr const char* kind = "device";
  struct Value {
    /// Makes one rank's device. Throws Unavailable when the hardware is not there.
    std::unique_ptr<Device> (*make)(const DeviceRequest&) = nullptr;
    /// The only communicator that it works with, "" = any real one. A device with its own communicator runs on a
    /// described cluster in virtual time, with or without values.
    const char* own_communicator = "";
    /// The family of its kernels.
    Numerics numerics;
    /// Whether this machine's cores and memory are the device: its kernels take the rank's threads.
    bool on_host = false;

    std::unique_ptr<Device> operator()(const DeviceRequest& request) const { return make(request); }
    bool needs_cluster() const { return *own_communicator != '\0'; }
  };
};
using DeviceRegistry = Registry<DeviceTag>;

}  // namespace strobe
