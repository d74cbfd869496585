#include "workloads/storage/shared_columns.hpp"

#include <nlohmann/json.hpp>
#include <string>

#include "core/hash.hpp"
#include "workloads/storage/binary_file.hpp"

namespace strobe {
namespace {

constexpr BinaryKind columns_kind{{'S', 'T', 'R', 'O', 'B', 'E', 'C', '\n'}, 1, "shared columns"};

}  // namespace

template <class T>
void share_columns(const NodeStore* node, const std::vector<Column<T>*>& all) {
  if (node == nullptr) return;
  std::vector<Column<T>*> columns;  // those that no file has yet
  for (Column<T>* column : all)
    if (column->own_bytes() > 0) columns.push_back(column);
  Sha256 digest;
  BinarySection section{"values", binary_type<T>(), {}, 0};
  for (const Column<T>* column : columns) {
    digest.update(column->data(), column->size() * sizeof(T));
    add_piece(section, *column);
  }
  if (section.count == 0) return;
  const Json key = {"columns", section.type, section.count, digest.hex()};
  const auto write = [&](const std::string& path) {
    write_binary_file(columns_kind, Json::object(), {section}, path, Keeping::passing);
  };
  const auto read = [&](const std::string& path, std::shared_ptr<const void> keeper) {
    return BinaryFile(columns_kind, path, std::move(keeper)).column<T>("values", section.count, true);
  };
  const std::optional<Column<T>> shared = node->get<Column<T>>(key, write, read);
  std::size_t first = 0;
  for (Column<T>* column : columns) {
    if (shared) *column = shared->part(first, column->size());
    first += column->size();
  }
}

template void share_columns(const NodeStore* node, const std::vector<Column<std::int32_t>*>& columns);
template void share_columns(const NodeStore* node, const std::vector<Column<std::uint32_t>*>& columns);
template void share_columns(const NodeStore* node, const std::vector<Column<std::int64_t>*>& columns);
template void share_columns(const NodeStore* node, const std::vector<Column<double>*>& columns);

}  // namespace strobe
