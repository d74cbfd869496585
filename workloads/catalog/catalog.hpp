// The catalogue: data sets that users fetch (one JSON file each in workloads/catalog), in addition to the bundled ones.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "workloads/graph/plugins.hpp"

namespace strobe {

/// One file of a data set as its source serves it; scripts/fetch_dataset gets it.
struct CatalogueFile {
  std::string file;  // name in the data set's folder
  std::string url;
  std::string unpack;                 // "" | zip | tar: the packing of the download (gzip files are read directly)
  std::string member;                 // pattern of the packed file that is taken
  std::string sha256;                 // of the download; "" when unknown
  std::optional<std::int64_t> bytes;  // of the download
};

/// A data set of the catalogue. Counts are what publications or the source page list: a difference is reported in the
/// provenance, not refused.
struct CatalogueSet {
  Entry<DatasetTag::Value> entry;  // value.file is "NAME/FILE" of the first file
  bool is_graph = true;            // false: parameters for another program
  std::vector<CatalogueFile> files;
  std::optional<std::int64_t> listed_vertices, listed_events;
  std::string listed_source;
};

/// The sets to fetch, by name. Throws InvalidRequest("FILE#POINTER") when one of the files is not of the known form.
const std::map<std::string, CatalogueSet>& catalogue();

/// Reads one file of the catalogue; its name is the set's.
CatalogueSet read_catalogue_file(const std::string& path);

/// The bundled or catalogued data set called `name`, or null.
const Entry<DatasetTag::Value>* find_dataset(const std::string& name);

/// False when the set of that name holds parameters for another program.
bool is_graph(const std::string& name);

/// Names of bundled and catalogued data sets.
std::vector<std::string> dataset_names();

/// The message when the set's file is missing. It names the command that fetches the file and the places where it was
/// looked for.
std::string missing_dataset_message(const Entry<DatasetTag::Value>& entry);

/// A sentence when `vertices` and `events` differ from the catalogue's numbers for `name`; "" when they are equal or it
/// lists none.
std::string listed_difference(const std::string& name, std::int64_t vertices, std::int64_t events);

/// Folder of the bundled data: workloads/data of the source or install tree.
std::string data_directory();

/// Where `file` (relative, as a data set names it) lies: $STROBE_DATA_DIR, or without it $XDG_DATA_HOME/strobe or
/// ~/.local/share/strobe; then the bundled data. Without such a file, where a fetched one would be.
std::string find_data_file(const std::string& file);

}  // namespace strobe
