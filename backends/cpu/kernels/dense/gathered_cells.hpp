// Shared by the kernels of a dense layer on listed rows: the lists, copying the rows of some samples into a small
// array, and adding such an array to the rows that one task owns.
#pragma once

#include <vector>

#include "backends/cpu/kernels/store/listed_rows.hpp"

namespace strobe::cpu {

/// The lists of one operation and the tensor whose rows they name.
struct Listed {
  std::vector<ListedRows> lists;
  std::int64_t samples, width, bytes;  // width and bytes of one row

  Listed(const Tensor& tensor, const std::vector<Tensor>& rows, std::int64_t count)
      : samples(count), width(tensor.columns()), bytes(static_cast<std::int64_t>(tensor.row_bytes())) {
    for (const Tensor& list : rows) lists.emplace_back(tensor, list);
  }
  std::int64_t cell_width() const { return width * static_cast<std::int64_t>(lists.size()); }
};

/// An array of some samples' rows: bytes from one sample to the next and from one list to the next.
struct Cells {
  std::byte* first;
  std::int64_t sample_bytes, list_bytes;
  std::byte* of_list(std::size_t k) const { return first + static_cast<std::int64_t>(k) * list_bytes; }
};

/// A sample's rows, one after the other.
template <class T>
Cells side_by_side(const Listed& x, T* cells) {
  return {reinterpret_cast<std::byte*>(cells), x.cell_width() * static_cast<std::int64_t>(sizeof(T)), x.bytes};
}

/// `samples` rows of each list, list after list.
template <class T>
Cells list_by_list(const Listed& x, std::int64_t samples, T* cells) {
  return {reinterpret_cast<std::byte*>(cells), x.bytes, samples * x.bytes};
}

/// Samples [begin, end) and the rows [first, last) that all their lists stay within.
struct Window {
  std::int64_t begin, end, first, last;
};

/// Samples from `begin` on, in whole blocks of `block` and at most to `end`, as long as their rows lie so close
/// together that they stay in a second-level cache: those of one step, where samples are listed step by step. At least
/// one block.
inline Window next_window(const Listed& x, std::int64_t begin, std::int64_t end, std::int64_t block) {
  constexpr std::int64_t most_bytes = 1 << 20;
  Window window{begin, begin, x.lists[0].list[begin], x.lists[0].list[begin] + 1};
  while (window.end < end) {
    const std::int64_t next = std::min(end, window.end + block);
    std::int64_t first = window.first, last = window.last - 1;
    for (const ListedRows& list : x.lists) {
      for (std::int64_t i = window.end; i < next; ++i) {
        first = std::min(first, list.list[i]);
        last = std::max(last, list.list[i]);
      }
    }
    if (window.end > begin && (last + 1 - first) * x.bytes > most_bytes) break;
    window = {begin, next, first, last + 1};
  }
  return window;
}

/// Reads the rows of a window once in their order, where its samples name at least one row for every two lines: lists
/// name them in any order, which no prefetcher follows, and fetch a line once for each row that they want of it.
inline void bring_in(const Listed& x, const Window& window) {
  constexpr std::int64_t line = 64;
  const std::int64_t bytes = (window.last - window.first) * x.bytes;
  const std::int64_t named = (window.end - window.begin) * static_cast<std::int64_t>(x.lists.size());
  if (2 * line * named < bytes) return;
  const std::byte* const rows = x.lists[0].at(window.first);
  for (std::int64_t i = 0; i < bytes; i += line) {
    // A prefetch is dropped where too many lines are under way; a load waits for its turn.
    std::byte value;
    std::memcpy(&value, rows + i, 1);
    asm volatile("" ::"r"(value));
  }
}

/// Calls body(first, count) for the blocks of `block` samples of [begin, end), window by window, each brought in first.
template <class Body>
void for_sample_blocks(const Listed& x, std::int64_t begin, std::int64_t end, std::int64_t block, const Body& body) {
  while (begin < end) {
    const Window window = next_window(x, begin, end, block);
    bring_in(x, window);
    for (; begin < window.end; begin += block) body(begin, std::min(block, window.end - begin));
  }
}

/// The rows of samples [begin, begin + count) into `cells`.
template <class Move>
void gather_cells(const Listed& x, std::int64_t begin, std::int64_t count, const Cells& cells, const Move& move) {
  for (std::size_t k = 0; k < x.lists.size(); ++k) {
    const ListedRows& from = x.lists[k];
    std::byte* to = cells.of_list(k);
    for (std::int64_t i = begin; i < begin + count; ++i, to += cells.sample_bytes) {
      if (i + rows_ahead < x.samples) prefetch_row<0>(from.at(from.list[i + rows_ahead]), x.bytes);
      move(to, from.at(from.list[i]), x.width);
    }
  }
}

/// Rows [begin, end) of a tensor.
struct Owned {
  std::int64_t begin, end;
  bool has(std::int64_t row) const { return row >= begin && row < end; }
};

/// How many of `rows` rows a task owns: as many tasks as threads, one where there is little to add.
inline std::int64_t owned_rows(const Listed& dx, std::int64_t rows, const KernelContext& context) {
  constexpr std::int64_t least_values = 1 << 14;
  return dx.samples * dx.cell_width() < least_values ? rows : divide_up(rows, thread_count(context));
}

/// Calls body(first, count) for the blocks of `block` samples in windows that reach into the owned rows, each brought
/// in first. Blocks that name no owned row are passed over as far as their windows are.
template <class Body>
void for_owned_blocks(const Listed& dx, const Owned& owned, std::int64_t block, const Body& body) {
  for (std::int64_t begin = 0; begin < dx.samples;) {
    const Window window = next_window(dx, begin, dx.samples, block);
    begin = window.end;
    if (window.first >= owned.end || window.last <= owned.begin) continue;
    bring_in(dx, {window.begin, window.end, std::max(window.first, owned.begin), std::min(window.last, owned.end)});
    for (std::int64_t first = window.begin; first < window.end; first += block)
      body(first, std::min(block, window.end - first));
  }
}

/// Adds what `cells` holds for samples [first, first + count) to those of their rows that are owned, list by list.
template <class Move>
void add_cells(const Listed& dx, const Owned& owned, std::int64_t first, std::int64_t count, const Cells& cells,
               const Move& move) {
  for (std::size_t k = 0; k < dx.lists.size(); ++k) {
    const ListedRows& to = dx.lists[k];
    const std::byte* from = cells.of_list(k);
    for (std::int64_t i = first; i < first + count; ++i, from += cells.sample_bytes) {
      const std::int64_t row = to.list[i];
      if (i + rows_ahead < dx.samples && owned.has(to.list[i + rows_ahead]))
        prefetch_row<1>(to.at(to.list[i + rows_ahead]), dx.bytes);
      if (owned.has(row)) move(to.at(row), from, dx.width);
    }
  }
}

}  // namespace strobe::cpu
