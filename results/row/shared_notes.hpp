// Notes of rows for a table: notes of all rows appear once, the others by number.
#pragma once

#include <string>
#include <vector>

#include "results/row/row.hpp"

namespace strobe {

struct SharedNotes {
  std::vector<std::string> of_all;                 // of every row that ran
  std::vector<std::string> numbered;               // the others; number 1 is the first
  std::vector<std::vector<std::size_t>> of_group;  // [groups]: their numbers, ascending
};

/// `groups`: the rows of each line of the table. A row that did not end ok has its status and reason as a note, a
/// predicted one the word.
SharedNotes share_notes(const std::vector<std::vector<const Row*>>& groups);

}  // namespace strobe
