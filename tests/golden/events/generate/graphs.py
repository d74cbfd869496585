#!/usr/bin/env python3
"""Writes the small streams of events and the candidates of their first 70 events; reads them for the models.
usage: graphs.py            writes the .csv and .npy files of tests/golden/events"""

import csv
from pathlib import Path

import numpy as np
import torch

EVENTS = Path(__file__).resolve().parent.parent
USERS, ITEMS, TRAINED, BATCH = 12, 18, 70, 10
LAST_ID, UNUSED_ID = 16, 9  # in the streams with features of vertices


class Stream:
    """Events in the order of the file: source, destination, time since the first event, features [E, d_e]; features of
    vertices [N, d_v] are None without."""

    def __init__(self, path):
        with open(path, newline="") as file:
            header, *rows = list(csv.reader(file))
        self.vertex_features = None
        if header[0] == "":
            self.read_tgn(path, rows)
        else:
            self.read_columns(header, rows)
        self.source, self.destination = self.ends.T
        self.time = self.time - self.time[0]
        self.vertices = 1 + int(self.ends.max())

    def read_columns(self, header, rows):
        self.ends = np.array([[int(row[0]), int(row[1])] for row in rows])
        features = []
        if header[0] == "user_id":
            self.ends[:, 1] += 1 + self.ends[:, 0].max()  # items are numbered after the users
            features = [[float(value) for value in row[4:]] for row in rows]
        self.time = np.array([float(row[2]) for row in rows])
        self.features = torch.tensor(features) if features else torch.zeros(len(rows), 0)

    def read_tgn(self, path, rows):
        """Vertices are numbered by ascending id; idx is an event's row of its array, an id that of the vertex."""
        ids, dense = np.unique([[int(row[1]), int(row[2])] for row in rows], return_inverse=True)
        self.ends = dense.reshape(-1, 2)
        self.time = np.array([float(row[3]) for row in rows])
        self.features = torch.zeros(len(rows), 0)
        of_events, of_vertices = path.with_suffix(".npy"), path.with_name(path.stem + "_node.npy")
        if of_events.exists():
            self.features = torch.from_numpy(np.load(of_events)[[int(row[5]) for row in rows]]).double()
        if of_vertices.exists():
            self.vertex_features = torch.from_numpy(np.load(of_vertices)[ids]).double()


def read_candidates(path, stream):
    """[events, C]: the true destination, then the negatives."""
    with open(path, newline="") as file:
        rows = np.array([[int(value) for value in row] for row in list(csv.reader(file))[1:]])
    assert (rows[:, 0] == np.arange(len(rows))).all()
    return np.column_stack([stream.destination[: len(rows)], rows[:, 1:]])


def draw_times(random, events, first):
    """Sixteenths of a second with ties, also between the last event of a batch and the first of the next. They stay below
    a minute: fp32 knows the cosine of a time of t seconds to about t * 1e-7."""
    steps = random.choice([0, 1, 2, 5, 9, 14], size=events - 1)
    steps[[BATCH - 1, 4 * BATCH - 1, 4 * BATCH]] = 0
    return first + np.concatenate([[0], np.cumsum(steps)]) / 16


def repeat_some(random, ends, share):
    """Gives some events the ends of one of the five events before."""
    for e in range(5, len(ends)):
        if random.random() < share:
            ends[e] = ends[e - 1 - random.integers(5)]


def two_sided(random):
    while True:
        ends = np.column_stack([random.integers(USERS, size=120), random.integers(ITEMS, size=120)])
        repeat_some(random, ends, 0.25)
        if len(set(ends[:, 0])) == USERS and len(set(ends[:, 1])) == ITEMS:
            break
    features = random.integers(-16, 17, size=(120, 3)) / 8
    rows = zip(ends, draw_times(random, 120, 0), random.integers(2, size=120), features)
    return ["user_id,item_id,timestamp,state_label,comma_separated_list_of_features",
            *(f"{u},{i},{t},{label}," + ",".join(f"{value:g}" for value in f) for (u, i), t, label, f in rows)]


def one_sided(random):
    while True:
        ends = random.integers(15, size=(100, 2))
        repeat_some(random, ends, 0.2)
        turned = random.random(100) < 0.3
        ends[turned] = ends[turned][:, ::-1]
        ends[[4, 13, 14, 37, 68], 1] = ends[[4, 13, 14, 37, 68], 0]  # self-loops
        if len(set(ends.flatten())) == 15:
            break
    # The first time is not 0, so that times since the first event differ from those of the file.
    return ["source,target,time", *(f"{u},{v},{t}" for (u, v), t in zip(ends, draw_times(random, 100, 5)))]


def tgn_form(random, edge_width, vertex_width):
    """Lines of the .csv file and the arrays by the ends of their names. Ids begin with 1 and id 9 has no events, so that
    the row of a vertex is not its number. Rows that nothing reads (of id 0, of id 9, of event 0) hold large values."""
    ids = np.array([vertex for vertex in range(1, LAST_ID + 1) if vertex != UNUSED_ID])
    while True:
        ends = random.choice(ids, size=(100, 2))
        repeat_some(random, ends, 0.25)
        ends[[7, 36], 1] = ends[[7, 36], 0]  # self-loops
        if len(set(ends.flatten())) == len(ids):
            break
    rows = enumerate(zip(ends, draw_times(random, 100, 3)))
    lines = [",u,i,ts,label,idx", *(f"{e},{u},{v},{t},0,{e + 1}" for e, ((u, v), t) in rows)]
    vertices, events = (random.integers(-16, 17, size=(count, width)) / 8
                        for count, width in ((LAST_ID + 1, vertex_width), (101, edge_width)))
    vertices[[0, UNUSED_ID]], events[0] = 1000, 1000
    arrays = {"_node.npy": vertices, ".npy": events}
    return lines, {end: array for end, array in arrays.items() if array.shape[1] > 0}


def candidates(random, first, end, negatives):
    """Any vertex of the right side, now and then the true destination or the source itself."""
    drawn = random.integers(first, end, size=(TRAINED, negatives))
    rows = [",".join(map(str, (e, *row))) for e, row in enumerate(drawn)]
    return [",".join(["event"] + ["vertex"] * negatives), *rows]


def main():
    random = np.random.default_rng(20230)
    files = {"two_sided": two_sided(random), "one_sided": one_sided(random),
             "two_sided_candidates": candidates(random, USERS, USERS + ITEMS, 1),
             "two_sided_three_negatives": candidates(random, USERS, USERS + ITEMS, 3),
             "one_sided_candidates": candidates(random, 0, 15, 1)}
    for name, widths in (("ml_vertex", (0, 4)), ("ml_both", (3, 2))):
        files[name], arrays = tgn_form(random, *widths)
        for end, array in arrays.items():
            np.save(EVENTS / f"{name}{end}", array.astype(np.float32))
    files["ml_candidates"] = candidates(random, 0, LAST_ID - 1, 1)
    for name, lines in files.items():
        (EVENTS / f"{name}.csv").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
