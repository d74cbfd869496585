// A report of small runs, and a check of its page.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>

#include "tests/cli/support/edited_json.hpp"
#include "tests/cli/program.hpp"
#include "tests/results/python.hpp"

namespace strobe::cli_test {

class Report : public Program {
 protected:
  void SetUp() override {
    python_ = testing_results::find_python("matplotlib jinja2");
    if (python_.empty())
      GTEST_SKIP() << "no Python with matplotlib and Jinja2 (apt: python3-matplotlib python3-jinja2)";
  }

  /// Runs a Python program that has the report's modules.
  Outcome python(const std::string& program) {
    write_text(folder_ / "program.py", "import sys\nsys.path.insert(0, '" STROBE_SOURCE_DIR "/scripts')\n" + program);
    return finish(start({python_, path("program.py")}));
  }

  /// Multiplies the rows of a run to a thousand, each with a seed and an id of its own, changed by `change`.
  void make_a_thousand_rows(const std::string& run, const std::function<void(Json&, std::size_t)>& change = {}) {
    Json summary = read_json(folder_ / run / "summary.json");
    const Json rows = summary.at("rows");
    summary["rows"] = Json::array();
    for (std::size_t i = 0; i < 1000; ++i) {
      Json row = rows.at(i % rows.size());
      row["seed"] = i / rows.size() + 1;
      row["case_id"] = row.at("case_id").get<std::string>() + std::to_string(i);
      if (change) change(row, i);
      summary["rows"].push_back(row);
    }
    write_text(folder_ / run / "summary.json", without_digests(summary).dump());
  }

  std::string two_strategies() {
    return suite(R"({"defaults": {"workload": {"name": "uniform", "steps": 8, "vertices": 60}, "epochs": 8},
      "cases": [{"strategy": "sequential"}, {"strategy": "snapshot", "ranks": 2}, {"strategy": "vertex", "ranks": 2},
                {"model": "t-gcn", "strategy": "snapshot", "ranks": 2}]})");
  }

  std::string python_;
};

/// Fails unless the page is whole: tags are closed in order, ids are unique, and links inside the page lead to an id.
inline constexpr const char* check_page = R"(
import html.parser, sys
VOID = {'meta', 'input', 'br'}
class Page(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.ids, self.links = [], [], []
    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        self.ids += [values['id']] if 'id' in values else []
        target = values.get('href', '')
        self.links += [target[1:]] if target.startswith('#') else []
        assert not target.startswith('http') and 'src' not in values, 'the page needs a network: ' + str(values)
        if tag not in VOID: self.open.append(tag)
    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in VOID: self.open.pop()
    def handle_endtag(self, tag):
        assert self.open.pop() == tag, tag
page = Page()
page.feed(open(sys.argv[1] if len(sys.argv) > 1 else 'page.html', encoding='utf-8').read())
page.close()
assert page.open == [], page.open
assert len(set(page.ids)) == len(page.ids), 'an id twice'
missing = [link for link in page.links if link not in page.ids]
assert not missing, missing
)";

}  // namespace strobe::cli_test
