// The program's output goes to a file, so that it never waits for this process. Files are read every hundredth of a
// second; times are those that the program states, so reading late changes none of them.
#include "harness/external/external_run.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <limits>
#include <optional>
#include <utility>

#include "backends/time_interval.hpp"
#include "core/errors.hpp"
#include "core/system/interrupt.hpp"
#include "core/units.hpp"
#include "harness/external/epoch_lines.hpp"
#include "harness/external/process_tree.hpp"
#include "harness/external/program.hpp"
#include "harness/process/python.hpp"

namespace strobe {
namespace {

constexpr unsigned look_microseconds = 10'000;
constexpr double tree_look_seconds = 0.1;
constexpr double tree_look_share = 0.02;         // of one core, that looking at processes may take
constexpr double shortest_window_seconds = 0.2;  // the kernel counts processor time in hundredths of a second
constexpr double seconds_to_finish = 10;         // after its last epoch, before the program is ended
constexpr const char* how_to_state =
    "print a line such as {\"epoch_seconds\": 0.81, \"edges\": 51000} for each epoch, append it to the file "
    "$STROBE_EPOCH_FILE, or use `with strobe.epoch():` in Python";

/// Whole lines of a file that grows.
class GrowingFile {
 public:
  explicit GrowingFile(std::string path) : path_(std::move(path)) {}

  /// Calls `take` with each line that came since the last call. With `all`, also with a last line that has no end.
  template <class Take>
  void read(bool all, const Take& take) {
    std::ifstream file(path_, std::ios::binary);
    file.seekg(static_cast<std::streamoff>(read_));
    std::string more{std::istreambuf_iterator<char>(file), {}};
    read_ += more.size();
    rest_ += more;
    std::size_t begin = 0;
    for (std::size_t end = 0; (end = rest_.find('\n', begin)) != std::string::npos; begin = end + 1) {
      const std::string line = rest_.substr(begin, end - begin);
      if (line.find_first_not_of(" \t\r") != std::string::npos) last_ = line;
      take(line);
    }
    rest_.erase(0, begin);
    if (all && !rest_.empty()) last_ = rest_, take(std::exchange(rest_, ""));
  }
  const std::string& last_line() const { return last_; }

 private:
  std::string path_, rest_, last_;
  std::size_t read_ = 0;
};

/// Counters of the program at one moment.
struct CounterMark {
  double at = 0;  // wall seconds
  double processor_seconds = 0;
  std::optional<std::uint64_t> sent_bytes;
};

/// Looks at the program's processes.
class ProgramWatch {
 public:
  explicit ProgramWatch(pid_t process) : process_(process), network_(process) {}

  /// Looks if it is time to. A look may take a small share of one core only.
  void look() {
    if (wall_seconds() < next_) return;
    const double begin = wall_seconds();
    read();
    const double end = wall_seconds();
    next_ = end + std::max(tree_look_seconds, (end - begin) / tree_look_share);
  }
  CounterMark mark() {
    read();
    return {wall_seconds(), seconds_, network_.sent()};
  }
  std::uint64_t peak_bytes() const { return peak_; }

 private:
  void read() {
    const TreeReading reading = read_tree(process_);
    peak_ = std::max(peak_, reading.private_bytes);
    seconds_ = std::max(seconds_, reading.processor_seconds);
  }

  pid_t process_;
  NetworkCounter network_;
  std::uint64_t peak_ = 0;
  double seconds_ = 0, next_ = 0;
};

std::string with_places(std::string command, const Case& c) {
  const std::pair<const char*, std::int64_t> places[] = {
      {"{ranks}", c.ranks}, {"{epochs}", c.warmup + c.epochs}, {"{seed}", c.seed}};
  for (const auto& [place, value] : places)
    for (std::size_t at = 0; (at = command.find(place, at)) != std::string::npos;)
      command.replace(at, std::string(place).size(), std::to_string(value));
  return command;
}

/// One run of the program for one case.
class ExternalRun {
 public:
  ExternalRun(const Case& c, const ExternalParameters& parameters, const OutsideRequest& request)
      : case_(c),
        parameters_(parameters),
        request_(request),
        wanted_(static_cast<std::size_t>(c.warmup + c.epochs)),
        program_({with_places(parameters.command, c),
                  {{"STROBE_EPOCH_FILE", scratch_.file("epochs")},
                   {"STROBE_EPOCHS", std::to_string(wanted_)},
                   {"STROBE_RANKS", std::to_string(c.ranks)},
                   {"STROBE_SEED", std::to_string(c.seed)},
                   {"PYTHONUNBUFFERED", "1"}},
                  scratch_.file("output"),
                  scratch_.file("errors"),
                  parameters.network == "own"}),
        output_(scratch_.file("output")),
        errors_(scratch_.file("errors")),
        file_(scratch_.file("epochs")),
        stated_(c.ranks),
        watch_(program_.process()),
        begin_(wall_seconds()),
        news_(begin_) {}

  void run(CaseResult& result) {
    try {
      while (goes_on(result)) usleep(look_microseconds);
      settle_end(result);
    } catch (const Interrupted& stop) {
      program_.end();
      result.status = "interrupted", result.reason = stop.what();
      fill(result);
      throw;
    } catch (const Error& bad_line) {
      fail(result, bad_line.what());
    }
    fill(result);
  }

 private:
  /// Reads what is new. Returns false when there is nothing more to wait for; `result` then says how it ended.
  bool goes_on(CaseResult& result) {
    if (const int signal = stop_signal().load(); signal != 0) throw Interrupted(signal);
    const bool ended = program_.has_ended();  // before reading, so that all its lines are there
    watch_.look();
    take_lines(ended);
    if (stated_.finished().size() >= wanted_ || ended) return false;
    const double now = wall_seconds();
    if (request_.time_limit_seconds > 0 && now - begin_ > request_.time_limit_seconds)
      return stop(result, fmt::format("the time limit of {:.6g} s was reached after {} of {} epochs",
                                      request_.time_limit_seconds, stated_.finished().size(), wanted_));
    if (now - news_ <= parameters_.patience) return true;
    const std::string found = stated_.finished().empty() ? how_to_state : "set strategy.patience if epochs take longer";
    return stop(result, fmt::format("the program stated no epoch for {} and was ended, after {} of {} epochs; {}",
                                    format_seconds(parameters_.patience), stated_.finished().size(), wanted_, found));
  }

  void take_lines(bool all) {
    const std::size_t before = stated_.finished().size();
    output_.read(all, [&](const std::string& line) { stated_.take_output(line); });
    file_.read(all, [&](const std::string& line) { stated_.take_file(line); });
    const std::size_t now = std::min(stated_.finished().size(), wanted_);
    if (now <= before) return;
    news_ = wall_seconds();
    const auto warmup = static_cast<std::size_t>(case_.warmup);
    if (now == warmup) first_mark_ = watch_.mark();
    if (now == wanted_) last_mark_ = watch_.mark();
    const StatedEpoch& last = stated_.finished()[now - 1];
    if (request_.tell)
      request_.tell(0, static_cast<std::int64_t>(now), last.loss.value_or(std::numeric_limits<double>::quiet_NaN()));
    if (!request_.keep || !pause_.over()) return;
    const std::vector<EpochSample> samples = samples_of_stated(epochs(), case_.warmup);
    const std::size_t ranks = static_cast<std::size_t>(case_.ranks);
    request_.keep({samples.begin() + static_cast<std::ptrdiff_t>(std::exchange(kept_, now) * ranks), samples.end()});
  }

  std::vector<StatedEpoch> epochs() const {
    const auto& all = stated_.finished();
    return {all.begin(), all.begin() + static_cast<std::ptrdiff_t>(std::min(all.size(), wanted_))};
  }

  bool stop(CaseResult& result, std::string reason) {
    program_.end();
    result.status = "timeout", result.reason = std::move(reason);
    return false;
  }

  void fail(CaseResult& result, std::string reason) {
    program_.end();
    result.status = "failed", result.reason = std::move(reason);
  }

  /// Lets a program that stated all epochs end by itself, and judges how it ended.
  void settle_end(CaseResult& result) {
    if (result.status != "ok") return;
    const std::size_t count = stated_.finished().size();
    const double last = wall_seconds() + seconds_to_finish;
    while (count >= wanted_ && count == stated_.finished().size() && !program_.has_ended() && wall_seconds() < last) {
      if (const int signal = stop_signal().load(); signal != 0) throw Interrupted(signal);
      usleep(look_microseconds);
      file_.read(false, [&](const std::string& line) { stated_.take_file(line); });
      output_.read(false, [&](const std::string& line) { stated_.take_output(line); });
    }
    const bool by_itself = program_.has_ended();
    const int status = program_.end();
    if (by_itself && status != 0)
      return fail(result, fmt::format("the program ended with status {} after {} of {} epochs{}", status,
                                      std::min(count, wanted_), wanted_, last_words()));
    if (!by_itself || count > wanted_)
      result.notes.push_back(
          fmt::format("the program went on after {} epochs; Strobe counts the first {}", wanted_, wanted_));
    if (count == 0) return fail(result, fmt::format("the program ended without stating an epoch; {}", how_to_state));
    if (count < wanted_)
      fail(result, fmt::format("the program stated {} of {} epochs; let it train $STROBE_EPOCHS epochs, or set "
                               "--epochs and --warmup",
                               count, wanted_));
  }

  /// The last line of standard error, or of standard output where that is empty.
  std::string last_words() {
    errors_.read(true, [](const std::string&) {});
    const std::string& words = errors_.last_line().empty() ? output_.last_line() : errors_.last_line();
    return words.empty() ? "" : ": " + shown_words(words);
  }

  void fill(CaseResult& result) {
    const std::vector<StatedEpoch> all = epochs();
    result.samples = samples_of_stated(all, case_.warmup);
    take_stated(all, case_.warmup, result);
    if (watch_.peak_bytes() > 0) result.facts.values["program_peak_bytes"] = watch_.peak_bytes();
    fill_counters(result.facts);
  }

  /// Counters between the end of the last warm-up epoch and the end of the last measured one, per epoch.
  void fill_counters(Facts& facts) const {
    std::string why;
    if (!first_mark_ || !last_mark_)
      why = case_.warmup == 0 ? "without a warm-up epoch, start-up cannot be left out"
                              : "the program stated several epochs at once, or ended early";
    else if (last_mark_->at - first_mark_->at < shortest_window_seconds)
      why = "its measured epochs take less than 0.2 s together, too short for the kernel's counters";
    for (const char* key : {"program_processor_seconds", "program_network_bytes"})
      if (!why.empty()) facts.absent[key] = why;
    if (!why.empty()) return;
    const auto count = static_cast<double>(case_.epochs);
    facts.set("program_processor_seconds", (last_mark_->processor_seconds - first_mark_->processor_seconds) / count);
    if (first_mark_->sent_bytes && last_mark_->sent_bytes)
      facts.set("program_network_bytes",
                static_cast<double>(*last_mark_->sent_bytes - *first_mark_->sent_bytes) / count);
    else
      facts.absent["program_network_bytes"] = "/proc has no counters of the network here";
  }

  const Case& case_;
  const ExternalParameters& parameters_;
  const OutsideRequest& request_;
  const std::size_t wanted_;
  ScratchFolder scratch_;
  OutsideProgram program_;
  GrowingFile output_, errors_, file_;
  StatedEpochs stated_;
  ProgramWatch watch_;
  TimeInterval pause_{1};
  std::size_t kept_ = 0;
  double begin_, news_;
  std::optional<CounterMark> first_mark_, last_mark_;
};

}  // namespace

void run_external(const Case& c, const ExternalParameters& parameters, const OutsideRequest& request,
                  CaseResult& result) {
  result.unseen = "another program trained, and only the times of its epochs are known";
  result.threads.clear();
  result.planned_bytes = Json::object();
  ExternalRun(c, parameters, request).run(result);
}

}  // namespace strobe
