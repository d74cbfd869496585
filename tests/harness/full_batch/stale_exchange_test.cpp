// A stale exchange on every rank, compared with one loop over all cells that has only owners and readers. Values,
// gradients and bytes of random walks over several epochs must agree. Cases have both forms of distances, both
// treatments of gradients, static and adaptive thresholds, both precisions, and real and simulated devices.
#include "harness/full_batch/exchange/stale_exchange.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>
#include <string>

#include "backends/cluster.hpp"
#include "tests/harness/full_batch/plain_subset.hpp"
#include "tests/harness/full_batch/random_halo.hpp"

namespace strobe::stale_exchange_test {
namespace {

using test::Cells;
using test::RandomHalo;
using Rows = std::vector<double>;
using CellKey = std::pair<Step, VertexId>;
std::int64_t width = 3;  // columns of all rows
constexpr int epochs = 5;

struct Setting {
  Staleness policy;
  ElementType precision = ElementType::f64;
  bool simulated = false;
  bool again = false;  // each epoch's forward pass runs twice
};

/// A value that fp32 holds.
double value_of(const RandomStream& random, int epoch, const CellKey& cell, std::int64_t column) {
  double sum = 0;
  for (int e = 0; e <= epoch; ++e) {
    const std::uint64_t at = ((e * 50 + cell.first) * 100 + cell.second) * width + column;
    const double pace = (cell.second % 25 + 1) * 0.02;  // some cells move faster than others
    sum += static_cast<double>(static_cast<float>(pace * (random.uniform(at) - 0.5)));
  }
  return static_cast<double>(static_cast<float>(sum));
}

Rows rows_of(const RandomStream& random, int epoch, const Cells& cells) {
  Rows rows;
  for (const CellKey& cell : cells)
    for (std::int64_t f = 0; f < width; ++f) rows.push_back(value_of(random, epoch, cell, f));
  return rows;
}

/// The gradient of an output row of a rank.
double gradient_of(const RandomStream& random, int epoch, Rank rank, const CellKey& cell, std::int64_t column) {
  const std::uint64_t at = (((epoch * 8 + rank) * 50 + cell.first) * 100 + cell.second) * width + column + 1000000000;
  return static_cast<double>(static_cast<float>(random.uniform(at) - 0.5));
}

double loss_of(int epoch) { return 2.0 / (1 + epoch); }

/// The expected results of an exchange.
struct Expected {
  std::vector<std::vector<Rows>> outputs, gradients;  // [epochs][ranks]
  std::vector<std::uint64_t> bytes;                   // [epochs], of all ranks
  std::uint64_t added = 0;                            // of these, largest distances and headers, at most
  std::vector<std::size_t> sent;                      // [epochs] rows, of all readers
  std::set<std::string> forms;                        // that named the rows
};

/// One loop over cells. A reader of a cell is a rank whose outputs name it without owning it.
class PlainLoop {
 public:
  PlainLoop(const std::vector<Cells>& inputs, const std::vector<Cells>& outputs, const Setting& setting,
            std::uint64_t seed)
      : inputs_(inputs), outputs_(outputs), setting_(setting), random_(seed, random_purpose::test, 5) {
    for (std::size_t r = 0; r < inputs.size(); ++r)
      for (const CellKey& cell : inputs[r]) owner_[cell] = r;
    for (std::size_t q = 0; q < outputs.size(); ++q) {
      for (const CellKey& cell : outputs[q])
        if (owner_.at(cell) != q) readers_[cell].push_back(q), pairs_[{owner_.at(cell), q}].push_back(cell), ++slots_;
    }
  }

  Expected run() {
    StaleThreshold threshold(setting_.policy);
    Expected expected;
    expected.added = distance_bytes();
    for (const auto& [pair, cells] : pairs_) expected.added += std::min<std::size_t>(8, (cells.size() + 7) / 8);
    for (int e = 0; e < epochs; ++e) {
      expected.sent.push_back(choose(e, e == 0 ? 0 : threshold.share()));
      expected.bytes.push_back(bytes(e, expected.sent.back(), expected.forms));
      std::vector<Rows>& outputs = expected.outputs.emplace_back();
      std::vector<Rows>& gradients = expected.gradients.emplace_back();
      for (std::size_t r = 0; r < inputs_.size(); ++r) {
        outputs.push_back(output(e, r));
        gradients.push_back(gradient(e, r));
      }
      threshold.add_loss(loss_of(e));
    }
    return expected;
  }

 private:
  /// Updates the copies; returns the number of sent rows for all readers.
  std::size_t choose(int e, double share) {
    std::map<CellKey, double> moved;
    double largest = 0;
    for (const auto& [cell, of] : readers_) {
      double square = 0;
      for (std::int64_t f = 0; f < width && e > 0; ++f)
        square += std::pow(value_of(random_, e, cell, f) - copies_.at(cell)[f], 2);
      moved[cell] = std::sqrt(square);
      largest = std::max(largest, moved[cell]);
    }
    std::size_t rows = 0;
    for (const auto& [cell, of] : readers_) {
      sent_[cell] = e == 0 || moved[cell] > share * largest;
      if (!sent_[cell]) continue;
      copies_[cell] = rows_of(random_, e, {cell});
      rows += of.size();
    }
    return rows;
  }

  std::uint64_t bytes(int e, std::size_t rows, std::set<std::string>& forms) const {
    const std::size_t row = width * (setting_.precision == ElementType::f64 ? 8 : 4);
    if (e == 0) return 2 * slots_ * row;
    const std::size_t back = setting_.policy.gradient_always ? slots_ : rows;
    return distance_bytes() + subset_bytes(forms) + (rows + back) * row;
  }
  std::uint64_t distance_bytes() const { return 2 * (inputs_.size() - 1) * 8; }
  std::uint64_t subset_bytes(std::set<std::string>& forms) const {
    std::uint64_t bytes = 0;
    for (const auto& [pair, cells] : pairs_) {
      std::vector<bool> sent;
      for (const CellKey& cell : cells) sent.push_back(sent_.at(cell));
      const test::PlainSubset subset = test::plain_subset(sent);
      bytes += subset.bytes;
      forms.insert(subset.form);
    }
    return bytes;
  }

  Rows output(int e, std::size_t rank) const {
    Rows y;
    for (const CellKey& cell : outputs_[rank]) {
      const Rows row = owner_.at(cell) == rank ? rows_of(random_, e, {cell}) : copies_.at(cell);
      y.insert(y.end(), row.begin(), row.end());
    }
    return y;
  }

  Rows gradient(int e, std::size_t rank) const {
    Rows dx;
    for (const CellKey& cell : inputs_[rank]) {
      for (std::int64_t f = 0; f < width; ++f) {
        double sum = 0;
        for (std::size_t q = 0; q < outputs_.size(); ++q) {
          const bool names = std::find(outputs_[q].begin(), outputs_[q].end(), cell) != outputs_[q].end();
          const bool counts = names && (q == rank || setting_.policy.gradient_always || sent_.at(cell));
          if (counts) sum += gradient_of(random_, e, static_cast<Rank>(q), cell, f);
        }
        dx.push_back(sum);
      }
    }
    return dx;
  }

  const std::vector<Cells>&inputs_, &outputs_;
  const Setting& setting_;
  const RandomStream random_;
  std::map<CellKey, std::size_t> owner_;
  std::map<CellKey, std::vector<std::size_t>> readers_;
  std::map<std::pair<std::size_t, std::size_t>, Cells> pairs_;  // what a rank sends another, in the reader's order
  std::size_t slots_ = 0;
  std::map<CellKey, Rows> copies_;
  std::map<CellKey, bool> sent_;
};

Tensor upload(Device& device, const Rows& values) {
  const auto rows = static_cast<std::int64_t>(values.size()) / width;
  if (device.precision() == ElementType::f64) return device.move_in(values.data(), rows, width, ElementType::f64);
  const std::vector<float> narrow(values.begin(), values.end());
  return device.move_in(narrow.data(), rows, width, ElementType::f32);
}

Rows download(Device& device, const Tensor& tensor) {
  Rows values(static_cast<std::size_t>(tensor.elements()));
  if (tensor.type() == ElementType::f64) {
    device.move_out(tensor, values.data());
    return values;
  }
  std::vector<float> narrow(values.size());
  device.move_out(tensor, narrow.data());
  return {narrow.begin(), narrow.end()};
}

/// One epoch of one rank: y, and the gradient of x.
std::pair<Rows, Rows> epoch_of(StaleExchange& exchange, Device& device, Communicator& communicator, const Rows& x,
                               const Rows& dy, int epoch, bool again) {
  if (again) {
    Tape tape(device, false);
    exchange.apply(tape, communicator, Tape::constant(upload(device, x)), epoch);
  }
  Tape tape(device);
  const Tensor dx = upload(device, Rows(x.size(), 0.0));
  const Var leaf = Tape::leaf(upload(device, x), dx);
  const Var y = exchange.apply(tape, communicator, leaf, epoch);
  tape.add_gradient(y, upload(device, dy));
  tape.backward();
  return {download(device, y->value), download(device, dx)};
}

LaunchRequest launch_of(int ranks, const Setting& setting) {
  LaunchRequest request;
  request.ranks = ranks;
  request.device.precision = setting.precision;
  request.device.values = true;
  if (setting.simulated) request.device.cluster = load_cluster("aimos-v100");
  request.make_device = DeviceRegistry::instance().find(setting.simulated ? "sim" : "cpu").value;
  return request;
}

/// Compares the bytes [ranks][epochs] that ranks sent.
void judge_bytes(const std::vector<std::vector<std::uint64_t>>& bytes, const Expected& expected) {
  for (std::size_t e = 0; e < epochs; ++e) {
    std::uint64_t all = 0;
    for (const auto& of_rank : bytes) all += of_rank[e];
    EXPECT_EQ(all, expected.bytes[e]) << "epoch " << e;
    EXPECT_LE(all, expected.bytes[0] + expected.added) << "epoch " << e;
  }
}

/// Some rows come in every later epoch, and some do not.
void expect_choices(const Expected& expected) {
  for (std::size_t e = 1; e < epochs; ++e) {
    EXPECT_LT(expected.sent[e], expected.sent[0]) << "every row was sent, so nothing was chosen";
    EXPECT_GT(expected.sent[e], 0u);
  }
}

/// Runs the exchange on all ranks and compares it with the loop, whose results it returns.
Expected judge(const ExchangePlan& plan, const std::vector<Cells>& inputs, const std::vector<Cells>& outputs,
               const Setting& setting, std::uint64_t seed) {
  const Expected expected = PlainLoop(inputs, outputs, setting, seed).run();
  const auto ranks = static_cast<int>(inputs.size());
  std::vector<std::vector<std::uint64_t>> bytes(ranks);
  const double tolerance = setting.precision == ElementType::f64 ? 1e-14 : 1e-6;
  const auto program = [&](Device& device, Communicator& communicator) {
    const std::size_t r = device.rank();
    const RandomStream random(seed, random_purpose::test, 5);
    StaleThreshold threshold(setting.policy);
    StaleExchange exchange(device, plan, Traffic::halo, threshold, {});
    for (int e = 0; e < epochs; ++e) {
      Rows dy;
      for (const CellKey& cell : outputs[r])
        for (std::int64_t f = 0; f < width; ++f) dy.push_back(gradient_of(random, e, device.rank(), cell, f));
      const std::size_t before = device.spans().size();
      const auto [y, dx] =
          epoch_of(exchange, device, communicator, rows_of(random, e, inputs[r]), dy, e, setting.again);
      std::uint64_t sent = 0;
      for (std::size_t s = before; s < device.spans().size(); ++s) sent += device.spans().spans()[s].sent_bytes;
      bytes[r].push_back(sent);
      EXPECT_EQ(y, expected.outputs[e][r]) << "epoch " << e << " rank " << r;
      const Rows& wanted = expected.gradients[e][r];
      ASSERT_EQ(dx.size(), wanted.size());
      for (std::size_t i = 0; i < dx.size(); ++i) EXPECT_NEAR(dx[i], wanted[i], tolerance) << e << " " << r << " " << i;
      threshold.add_loss(loss_of(e));
    }
  };
  CommunicatorRegistry::instance()
      .find(setting.simulated ? "sim" : "local")
      .value.launch(launch_of(ranks, setting), program);
  judge_bytes(bytes, expected);
  EXPECT_EQ(StaleExchange::added_bytes(plan), expected.added);
  return expected;
}

std::vector<Setting> settings() {
  std::vector<Setting> all;
  for (const Staleness::Kind kind : {Staleness::Kind::static_share, Staleness::Kind::adaptive}) {
    for (const bool host : {true, false}) {
      for (const bool always : {false, true}) {
        Setting setting;
        setting.policy = {kind, 0.45, always != host, always, host, 1};
        setting.precision = always ? ElementType::f32 : ElementType::f64;
        setting.again = host;
        all.push_back(setting);
      }
    }
  }
  return all;
}

TEST(StaleExchange, HalosGiveWhatOneLoopOverCellsGives) {
  for (const int ranks : {2, 3, 4, 7}) {
    for (const std::uint64_t seed : {1, 2, 3}) {
      const RandomHalo halo(ranks, seed);
      for (Setting setting : settings()) {
        setting.simulated = seed == 3;
        expect_choices(judge(halo.plan, halo.inputs, halo.outputs, setting, seed));
        if (testing::Test::HasFailure()) return;
      }
    }
  }
}

/// Rows of 1 to 64 values, pairs of ranks with and without lists, and thresholds that leave out few rows, some and
/// nearly all. `judge` holds every epoch's bytes against the plain loop's, and against the exact run's. Every form must
/// have been the shortest for every width, or the thresholds would not show that it is taken.
TEST(StaleExchange, BytesAreTheFewestOfAllFormsForEveryWidth) {
  const std::int64_t usual = width;
  for (const std::int64_t columns : {1, 2, 7, 64}) {
    width = columns;
    std::set<std::string> forms;
    for (const int ranks : {2, 3, 5}) {
      for (const double theta : {0.02, 0.1, 0.3, 0.9}) {
        const std::uint64_t seed = static_cast<std::uint64_t>(columns + ranks);
        const RandomHalo halo(ranks, seed, ranks == 3 ? 19 : 150);
        Setting setting;
        setting.policy = {Staleness::Kind::static_share, theta, false, theta == 0.3, true, 1};
        setting.precision = theta == 0.3 ? ElementType::f64 : ElementType::f32;
        setting.simulated = ranks == 5;
        const Expected expected = judge(halo.plan, halo.inputs, halo.outputs, setting, seed);
        if (theta >= 0.3) expect_choices(expected);
        forms.insert(expected.forms.begin(), expected.forms.end());
      }
    }
    EXPECT_EQ(forms,
              (std::set<std::string>{"bits", "all or none", "list of bits", "list of rows", "list of rows left out"}))
        << columns;
  }
  width = usual;
}

TEST(StaleExchange, RedistributionsGiveItToo) {
  for (const std::uint64_t seed : {4, 5}) {
    const RandomHalo drawn(3, seed);
    const Placement to = by_vertex(contiguous_owners(drawn.placement.vertices, 3), drawn.placement.steps(), 3);
    const ExchangePlan plan = redistribute(drawn.placement, to, {});
    for (const Setting& setting : settings())
      expect_choices(judge(plan, drawn.inputs, test::carry(plan, drawn.inputs), setting, seed));
  }
}

/// A constant input has bytes in the first epoch only.
TEST(StaleExchange, AConstantInputIsSentOnce) {
  const RandomHalo halo(3, 6);
  Setting setting;
  setting.policy = {Staleness::Kind::adaptive, 0, false, false, true, 1};
  const auto program = [&](Device& device, Communicator& communicator) {
    const std::size_t r = device.rank();
    const RandomStream random(1, random_purpose::test, 5);
    StaleThreshold threshold(setting.policy);
    StaleExchange exchange(device, halo.plan, Traffic::halo, threshold, {true, 1});
    const Rows x = rows_of(random, 0, halo.inputs[r]), expected = rows_of(random, 0, halo.outputs[r]);
    for (int e = 0; e < 3; ++e) {
      const std::size_t before = device.spans().size();
      Tape tape(device);
      const Var y = exchange.apply(tape, communicator, Tape::constant(upload(device, x)), e);
      tape.backward();
      EXPECT_EQ(download(device, y->value), expected);
      std::uint64_t sent = 0;
      for (std::size_t s = before; s < device.spans().size(); ++s) sent += device.spans().spans()[s].sent_bytes;
      const std::uint64_t rows = halo.plan.of(device.rank()).send.total;
      EXPECT_EQ(sent, e == 0 ? rows * width * 8 : 0);
    }
  };
  CommunicatorRegistry::instance().find("local").value.launch(launch_of(3, setting), program);
}

TEST(StaleExchange, GoesOnFromWhatAllRanksHeld) {
  for (const bool host : {true, false}) {
    const RandomHalo halo(4, 8);
    Setting setting;
    setting.policy = {Staleness::Kind::static_share, 0.5, false, false, host, 1};
    const auto program = [&](Device& device, Communicator& communicator) {
      const std::size_t r = device.rank();
      const RandomStream random(8, random_purpose::test, 5);
      StaleThreshold threshold(setting.policy);
      StaleExchange whole(device, halo.plan, Traffic::halo, threshold, {});
      std::unique_ptr<StaleExchange> resumed;
      for (int e = 0; e < epochs; ++e) {
        const Rows x = rows_of(random, e, halo.inputs[r]), dy = rows_of(random, e + 1, halo.outputs[r]);
        const auto expected = epoch_of(whole, device, communicator, x, dy, e, false);
        if (resumed) {
          EXPECT_EQ(epoch_of(*resumed, device, communicator, x, dy, e, false), expected) << host << e;
        }
        if (e != 2) continue;
        resumed = std::make_unique<StaleExchange>(device, halo.plan, Traffic::halo, threshold, StaleExchange::Input{});
        resumed->restore(device, whole.gather(device, communicator));
      }
    };
    CommunicatorRegistry::instance().find("local").value.launch(launch_of(4, setting), program);
  }
}

}  // namespace
}  // namespace strobe::stale_exchange_test
