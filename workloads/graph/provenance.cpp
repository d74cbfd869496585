#include "workloads/graph/provenance.hpp"

#include "workloads/storage/binary_file.hpp"

namespace strobe {

Json provenance_to_json(const Provenance& p) {
  return {{"name", p.name},
          {"format", p.format},
          {"source", p.source},
          {"sha256", p.sha256},
          {"licence", p.licence},
          {"ids", p.ids},
          {"rows", p.rows},
          {"self_loops", p.self_loops},
          {"duplicates", p.duplicates},
          {"was_sorted", p.was_sorted},
          {"notes", p.notes}};
}

Provenance provenance_from_json(const Json& json) {
  Provenance p;
  json.at("name").get_to(p.name);
  json.at("format").get_to(p.format);
  json.at("source").get_to(p.source);
  json.at("sha256").get_to(p.sha256);
  json.at("licence").get_to(p.licence);
  json.at("ids").get_to(p.ids);
  p.rows = whole_number(json.at("rows"));
  p.self_loops = whole_number(json.at("self_loops"));
  p.duplicates = whole_number(json.at("duplicates"));
  json.at("was_sorted").get_to(p.was_sorted);
  json.at("notes").get_to(p.notes);
  return p;
}

}  // namespace strobe
