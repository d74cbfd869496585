#include "harness/event_batches/trainer/presampled_batches.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <system_error>
#include <utility>

#include "core/errors.hpp"

namespace strobe {
namespace {

/// Calls `each` with every list of a draw, in a fixed order, and `number` with every count that is not a list's size.
template <class Draw, class Each, class Number>
void for_each_part(Draw& drawn, Each&& each, Number&& number) {
  number(drawn.candidates);
  number(drawn.mails);
  each(drawn.counts), each(drawn.vertices), each(drawn.mail_dt), each(drawn.mail_events);
  for (auto& level : drawn.levels) {
    number(level.roots);
    each(level.root_rows), each(level.slot_rows), each(level.offsets), each(level.dt), each(level.events);
    each(level.numbers), each(level.slot_roots), each(level.slot_numbers);
  }
  each(drawn.root_rows), each(drawn.root_dt), each(drawn.written), each(drawn.own_rows), each(drawn.other_rows);
  for (auto& codes : drawn.pair_codes) each(codes);
}

std::vector<std::byte> packed(const BatchDraw& drawn) {
  std::vector<std::byte> bytes;
  const auto add = [&](const void* from, std::size_t count) {
    const auto* const raw = static_cast<const std::byte*>(from);
    bytes.insert(bytes.end(), raw, raw + count);
  };
  const auto number = [&](const std::int64_t& value) { add(&value, sizeof value); };
  for_each_part(
      drawn,
      [&](const auto& list) {
        number(static_cast<std::int64_t>(list.size()));
        add(list.data(), list.size() * sizeof list.front());
      },
      number);
  return bytes;
}

/// Fills `drawn`, which must have its levels already, from the bytes that `packed` made.
void unpack(const std::vector<std::byte>& bytes, BatchDraw& drawn) {
  const std::byte* at = bytes.data();
  const auto take = [&](void* to, std::size_t count) {
    if (count > 0) std::memcpy(to, at, count);
    at += count;
  };
  const auto number = [&](std::int64_t& value) { take(&value, sizeof value); };
  for_each_part(
      drawn,
      [&](auto& list) {
        std::int64_t size = 0;
        number(size);
        list.resize(size);
        take(list.data(), list.size() * sizeof list.front());
      },
      number);
}

class InMemory final : public PresampledBatches {
 public:
  bool has(const PresampledKey& key) const override { return draws_.count(key) > 0; }
  void add(const PresampledKey& key, const SharedDraw& drawn) override { draws_[key] = drawn; }
  PresampledDraw find(const PresampledKey& key) override { return {draws_.at(key), {}}; }

 private:
  std::map<PresampledKey, SharedDraw> draws_;
};

/// The folder for temporary files. If TMPDIR names no folder, its text, for the message of the failure.
std::string temporary_folder() {
  std::error_code error;
  const std::filesystem::path folder = std::filesystem::temp_directory_path(error);
  const char* const wanted = std::getenv("TMPDIR");
  return error && wanted != nullptr ? wanted : folder.string();
}

[[noreturn]] void fail(const std::string& what) {
  const std::string cause = std::strerror(errno);
  throw SystemError(fmt::format(
      "{} the file of presampled batches in {}: {}; set TMPDIR to a folder with room, or take presample=memory or none",
      what, temporary_folder(), cause));
}

/// A file without a name, which the system deletes when the process ends in any way.
class TemporaryFile {
 public:
  TemporaryFile() {
    std::string name = temporary_folder() + "/strobe-batches-XXXXXX";
    file_ = ::mkstemp(name.data());
    if (file_ < 0) fail("cannot make");
    ::unlink(name.c_str());
  }
  ~TemporaryFile() { ::close(file_); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  void write(const std::vector<std::byte>& bytes, std::uint64_t at) {
    for (std::size_t done = 0; done < bytes.size();) {
      const ssize_t written = ::pwrite(file_, bytes.data() + done, bytes.size() - done, static_cast<off_t>(at + done));
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) fail("cannot write");
      done += static_cast<std::size_t>(written);
    }
  }

  void read(std::vector<std::byte>& bytes, std::uint64_t at) const {
    for (std::size_t done = 0; done < bytes.size();) {
      const ssize_t got = ::pread(file_, bytes.data() + done, bytes.size() - done, static_cast<off_t>(at + done));
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) fail("cannot read");
      done += static_cast<std::size_t>(got);
    }
  }

 private:
  int file_ = -1;
};

class OnDisk final : public PresampledBatches {
 public:
  bool has(const PresampledKey& key) const override { return places_.count(key) > 0; }

  void add(const PresampledKey& key, const SharedDraw& drawn) override {
    const std::vector<std::byte> bytes = packed(*drawn);
    file_->write(bytes, end_);
    places_[key] = {end_, bytes.size(), drawn->levels.size(), drawn->request};
    end_ += bytes.size();
  }

  PresampledDraw find(const PresampledKey& key) override {
    const Place& place = places_.at(key);
    auto drawn = std::make_shared<BatchDraw>();
    drawn->request = place.request;
    drawn->levels.resize(place.levels);
    const double bytes = place.bytes;
    HostWork reading{"read_batch", {0, bytes, bytes}, bytes, {}, {}};
    reading.serial = true;
    reading.body = [file = file_, place, drawn](Workers&) {
      std::vector<std::byte> read(place.bytes);
      file->read(read, place.at);
      unpack(read, *drawn);
    };
    return {std::move(drawn), std::move(reading)};
  }

 private:
  struct Place {
    std::uint64_t at = 0, bytes = 0;
    std::size_t levels = 0;
    BatchRequest request;
  };

  std::shared_ptr<TemporaryFile> file_ = std::make_shared<TemporaryFile>();
  std::map<PresampledKey, Place> places_;
  std::uint64_t end_ = 0;
};

}  // namespace

PresampledKey PresampledKey::of(const BatchOrder& order, std::int64_t sequence, std::int64_t copy,
                                const BatchRequest& request) {
  const std::int64_t first = copy * order.batches() / order.groups().k;
  const bool first_sweep = first + sequence < order.batches();
  return {first_sweep ? first : 0, request.first, request.group, request.writes};
}

std::unique_ptr<PresampledBatches> make_presampled_batches(const std::string& where) {
  if (where == "disk") return std::make_unique<OnDisk>();
  return std::make_unique<InMemory>();
}

}  // namespace strobe
