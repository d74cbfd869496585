"""Shortens the output of other programs to a few words, for the column of figures in the table of gpu_report."""
import os
import re


def last_line(text):
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return re.sub(r"[|`]", " ", lines[-1])[:300] if lines else "no output"


def counts_of(text):
    """The counts of a GoogleTest program in words, with the filter that chose its tests."""
    ended = {word: len(re.findall(rf"^\[ *{word} *\] [^ ]+ \(", text, re.M)) for word in ("OK", "FAILED", "SKIPPED")}
    begun = len(re.findall(r"^\[ RUN      \]", text, re.M))
    figure = f"{ended['OK']} passed, {ended['FAILED']} failed, {ended['SKIPPED']} skipped"
    figure += f", {begun - sum(ended.values())} not ended" if begun > sum(ended.values()) else ""
    return figure + (f" of GTEST_FILTER={os.environ['GTEST_FILTER']}" if "GTEST_FILTER" in os.environ else "")


def findings_of(text):
    """The summary lines of compute-sanitizer."""
    summaries = re.findall(r"(?:ERROR|RACECHECK) SUMMARY: .*", text)
    return summaries[-1] if summaries else "no summary"


def errors_of(validation):
    """The overall figures of a validation.json in words."""
    found = validation["overall"]
    error, top, band = found["epoch_error"], found["top_strategy"], found["band_coverage"]
    figures = f"{found['judged']} of {found['cases']} cases judged"
    if error["count"] == 0:
        return figures
    return (f"{figures}; epochs' error {100 * error['mean_absolute']:.1f} % mean, {100 * error['max_absolute']:.1f} % "
            f"largest, {100 * error['bias']:+.1f} % bias; top strategy right in {top['right']} of {top['of']}; "
            f"band holds {band['right']} of {band['of']}; {found['cases_with_other_bytes']} with other bytes")


def figure_of(row):
    """A row of gpu_models.py in words."""
    parts = [f"Strobe {1e3 * row['strobe']['median_s']:.3f} ms"] if "strobe" in row else []
    found = row.get("pytorch", {})
    if "median_s" in found:
        why = f", no graph: {found['no_graph']}" if "no_graph" in found else ""
        parts.append(f"PyTorch {1e3 * found['median_s']:.3f} ms ({found['form']}{why})")
    if "ratio" in row:
        parts.append(f"ratio {row['ratio']:.2f}")
    parts += [row["failed"]] if "failed" in row else []
    return re.sub(r"[|`\n]", " ", ", ".join(parts))[:300]
