// Bytes of plain and gzip files.
// zlib's own gzFile is not used: it passes over bytes after the last member in silence, and nothing may be skipped.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/errors.hpp"
#include "workloads/reading/text/inputs.hpp"
#include "workloads/reading/text/text_reader.hpp"

namespace strobe {
namespace {

constexpr std::size_t input_bytes = std::size_t{1} << 16;
constexpr int gzip_window_bits = 15 + 16;  // largest window, gzip header required

bool is_gzip(const unsigned char* bytes, std::size_t size) { return size >= 2 && bytes[0] == 0x1f && bytes[1] == 0x8b; }

int open_regular(const std::string& path, struct stat& status) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // a FIFO must not block here
  if (file < 0) {
    if (errno == ENOENT || errno == ENOTDIR) throw InvalidInput(path, 0, 0, "no such file");
    throw InvalidInput(path, 0, 0, std::string("cannot be opened: ") + std::strerror(errno));
  }
  if (fstat(file, &status) != 0 || !S_ISREG(status.st_mode)) {
    close(file);
    throw InvalidInput(path, 0, 0, S_ISDIR(status.st_mode) ? "is a directory, not a file" : "is not a regular file");
  }
  return file;
}

}  // namespace

struct ByteSource::State {
  std::string path;
  int file = -1;
  struct stat begun {};  // as the file was when reading began
  std::vector<unsigned char> input = std::vector<unsigned char>(input_bytes);
  std::size_t begin = 0, end = 0;
  bool gzip = false;
  bool inside_member = false;
  z_stream stream{};

  bool fill() {
    if (begin < end) return true;
    begin = end = 0;
    ssize_t got = 0;
    do got = ::read(file, input.data(), input.size());
    while (got < 0 && errno == EINTR);
    if (got < 0) throw SystemError("cannot read " + path + ": " + std::strerror(errno));
    end = static_cast<std::size_t>(got);
    if (got == 0) refuse_changed();
    return got > 0;
  }

  /// Refuses a file that was cut or written during the reading: the bytes read are of no state that the file ever had.
  void refuse_changed() const {
    struct stat now {};
    if (fstat(file, &now) != 0) throw SystemError("cannot examine " + path + ": " + std::strerror(errno));
    const auto same_time = [](const timespec& a, const timespec& b) {
      return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
    };
    if (now.st_size == begun.st_size && same_time(now.st_mtim, begun.st_mtim)) return;
    throw InvalidInput(path, 0, 0, "was changed while Strobe read it; run again when no program writes to it");
  }

  void begin_member() {
    if (end - begin == 1) {  // the magic may straddle two reads
      input[0] = input[begin];
      begin = 0;
      const ssize_t got = ::read(file, input.data() + 1, input.size() - 1);
      end = 1 + static_cast<std::size_t>(std::max<ssize_t>(got, 0));
    }
    if (!is_gzip(input.data() + begin, end - begin))
      throw InvalidInput(path, 0, 0, "there are bytes after the gzip data");
    if (inflateReset(&stream) != Z_OK) throw SystemError("cannot reset zlib");
    inside_member = true;
  }

  /// Decompresses into `out` until it is full or the input ends.
  std::size_t inflate_into(char* out, std::size_t size) {
    std::size_t done = 0;
    while (done < size) {
      if (!fill()) {
        if (inside_member) throw InvalidInput(path, 0, 0, "the gzip data is truncated");
        break;
      }
      if (!inside_member) begin_member();
      stream.next_in = input.data() + begin;
      stream.avail_in = static_cast<uInt>(end - begin);
      stream.next_out = reinterpret_cast<Bytef*>(out + done);
      const std::size_t room = std::min(size - done, std::size_t{1} << 30);
      stream.avail_out = static_cast<uInt>(room);
      const int status = inflate(&stream, Z_NO_FLUSH);
      begin = end - stream.avail_in;
      done += room - stream.avail_out;
      if (status == Z_STREAM_END)
        inside_member = false;
      else if (status != Z_OK && status != Z_BUF_ERROR) {
        throw InvalidInput(path, 0, 0,
                           std::string("the gzip data is damaged: ") + (stream.msg ? stream.msg : "zlib refuses it"));
      }
    }
    return done;
  }
};

ByteSource::ByteSource(const std::string& path) : state_(std::make_unique<State>()) {
  state_->path = path;
  note_input(path);
  state_->file = open_regular(path, state_->begun);
  if (inflateInit2(&state_->stream, gzip_window_bits) != Z_OK) {
    close(state_->file);
    throw SystemError("cannot start zlib");
  }
  try {
    state_->fill();
  } catch (...) {
    inflateEnd(&state_->stream);
    close(state_->file);
    throw;
  }
  state_->gzip = is_gzip(state_->input.data(), state_->end);
}

ByteSource::~ByteSource() {
  inflateEnd(&state_->stream);
  close(state_->file);
}

std::size_t ByteSource::read(char* out, std::size_t size) {
  if (state_->gzip) return state_->inflate_into(out, size);
  std::size_t done = 0;
  while (done < size && state_->fill()) {
    const std::size_t part = std::min(size - done, state_->end - state_->begin);
    std::memcpy(out + done, state_->input.data() + state_->begin, part);
    state_->begin += part;
    done += part;
  }
  return done;
}

}  // namespace strobe
