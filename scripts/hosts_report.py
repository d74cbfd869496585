"""Reports of scripts/test_hosts: times of a run, the cluster file for predictions on another network, and predictions
compared with measurements."""

import csv
import json
import pathlib
import statistics
import sys


def bytes_per_second(rate):
    """Bytes per second of a rate in tc's form: 100mbit, 10gbit."""
    return float(rate[:-4]) * {"m": 1e6, "g": 1e9}[rate[-4]] / 8


def wire_seconds(rate):
    """Seconds of a byte in full segments: a frame carries 1448 bytes, and tc counts its 1514."""
    return 1514 / 1448 / bytes_per_second(rate)


def report_times(run, hosts, rate):
    rows = json.loads(pathlib.Path(run, "summary.json").read_text())["rows"]
    if not rows or any(row["status"] != "ok" for row in rows):
        sys.exit("test_hosts: a case did not end ok")
    times = {}
    for row in rows:
        times[row["strategy"]["name"]] = row["epoch_seconds"]["median"], row["sent_bytes"]["total"]
    for name, (seconds, sent) in times.items():
        print(f"{hosts} hosts, {rate:>8}: {name:12} {seconds * 1e3:9.2f} ms an epoch, {sent / 1e6:8.3f} MB sent")
    whole = {name: seconds for name, (seconds, sent) in times.items() if name != "hybrid_batch"}
    print(f"{hosts} hosts, {rate:>8}: fastest {min(whole, key=whole.get)}")


def report_memory(run, hosts, reference):
    """Prints what processes took, and ends with an error unless the losses are those of `reference` up to rounding."""
    row, other = (json.loads(pathlib.Path(path, "summary.json").read_text())["rows"][0] for path in (run, reference))
    if row["status"] != "ok":
        sys.exit(f"test_hosts: the case ended as {row['status']}: {row['reason']}")
    print(f"{hosts} hosts, {row['ranks']} processes: at most {max(row['memory_bytes']['process']) / 2**20:.0f} MiB of private "
          f"memory each, {row['load_seconds']:.2f} s to load, loss {row['loss'][-1]:.15g}")
    # One rounding of fp32 is 6e-8. Sums over ranks are exact enough that losses agree far better.
    if any(abs(a - b) > 1e-9 * abs(b) for a, b in zip(row["loss"], other["loss"], strict=True)):
        sys.exit(f"test_hosts: losses {row['loss']} differ from {other['loss']} of one process")


def write_cluster(calibrated, calibrated_rate, hosts, rate, out):
    """Writes a cluster of nodes with one rank each. Operations are as calibrated. A byte on the link takes the time of
    the wire, plus the time that hosts added to it in the calibration. Hosts beyond the machine's cores take turns, as
    in computing, and share its host. Corrections fitted to collectives on the calibrated link are left out."""
    cluster = json.loads(pathlib.Path(calibrated).read_text())
    carried = cluster.pop("intra_node_bytes_per_second")
    latency = cluster.pop("intra_node_latency_seconds")
    host_seconds = max(0.0, 1 / carried["value"] - wire_seconds(calibrated_rate))
    cores = cluster["calibration"].get("cores", int(hosts))
    turns = max(1, int(hosts) / cores) / max(1, 2 / cores)
    per_byte = wire_seconds(rate) + turns * host_seconds
    source = (f"calibrated on two hosts at {calibrated_rate}: {host_seconds * 1e9:.2f} ns a byte beyond the wire's "
              f"{wire_seconds(calibrated_rate) * 1e9:.2f}")
    made = {"source": source, "date": carried["date"]}
    cluster["name"] = f"hosts-{hosts}-{rate}"
    cluster["nodes"] = {"value": int(hosts), **made}
    cluster["gpus_per_node"] = {"value": 1, **made}
    cluster["nics_per_node"] = {"value": 1, **made}
    cluster["inter_node_bytes_per_second"] = {"value": 1 / per_byte, **made}
    cluster["inter_node_latency_seconds"] = {"value": turns * latency["value"], **made}
    host = cluster.get("host", {})
    if "cores" in host:
        host["cores"] = {"value": max(1, int(host["cores"]["value"] / int(hosts))), **made}
        host["memory_bytes_per_second"] = {"value": host["memory_bytes_per_second"]["value"] / int(hosts), **made}
    cluster["calibration"].pop("collectives")
    cluster.pop("epoch_band_90", None)
    cluster.pop("sha256", None)  # of the calibrated file
    pathlib.Path(out).write_text(json.dumps(cluster, indent=1) + "\n")


def append_judged(judged, hosts, rate, out):
    report = json.loads(pathlib.Path(judged).read_text())
    cases = [case for case in report["cases"] if case["judged"]]
    if not cases:
        sys.exit("test_hosts: no case was judged")
    fresh = not pathlib.Path(out).exists()
    whole = [case for case in cases if not case["strategy"].startswith("hybrid_batch")]
    fastest = {
        side: min(whole, key=lambda case: case[side]["epoch_seconds"])["strategy"].split()[0]
        for side in ("measured", "predicted")
    }
    with open(out, "a", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        if fresh:
            writer.writerow(["hosts", "rate", "strategy", "measured_seconds", "predicted_seconds", "error", "bytes_equal",
                             "fastest_measured", "fastest_predicted", "void"])
        for case in cases:
            seconds = [case[side]["epoch_seconds"] for side in ("measured", "predicted")]
            writer.writerow([hosts, rate, case["strategy"].split()[0], *(f"{value:.6g}" for value in seconds),
                             f"{case['error']:.4f}", int(case["bytes_equal"]), fastest["measured"], fastest["predicted"], "; ".join(report["void"])])
            print(f"{hosts} hosts, {rate:>8}: {case['strategy'].split()[0]:32} measured {seconds[0] * 1e3:9.2f} ms, "
                  f"predicted {seconds[1] * 1e3:9.2f} ms, {case['error'] * 100:+6.1f} %")
    mean = statistics.mean(abs(case["error"]) for case in cases)
    right = "right" if fastest["measured"] == fastest["predicted"] else "wrong"
    print(f"{hosts} hosts, {rate:>8}: {mean * 100:.1f} % off on average; fastest predicted {fastest['predicted']}, "
          f"measured {fastest['measured']}: {right}")
    for reason in report["void"]:
        print(f"{hosts} hosts, {rate:>8}: void, {reason}")


if __name__ == "__main__":
    {"times": report_times, "memory": report_memory, "cluster": write_cluster, "judge": append_judged}[sys.argv[1]](*sys.argv[2:])
