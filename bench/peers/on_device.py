"""Makes the models' PyTorch forms on a device, checks their gradients there, and times their epochs, also as a replayed
CUDA graph."""

import gc
import statistics
import warnings

import scipy
import torch

import evolve_dysat
import gpu_epoch
import recurrent_models

# Not the real graphs, so that the CPU's side of the check takes milliseconds; a few thousand values that meet a relu also
# make it improbable that one lies so near to zero that the two devices see different signs.
SMALL = {"vertices": 96, "steps": 6}

# Both sides compute in fp32 and sum in different orders. Other orders on one CPU moved a gradient by 1e-6 of the
# parameter's largest; a wrong term moves it by percents, and products in TF32 by 1e-3. A bias before a normalisation has
# a gradient of zero except for rounding, hence the share of the largest gradient of all parameters (there 3e-6 at most).
OF_PARAMETER, OF_MODEL = 1e-4, 1e-5


def missing(device):
    """Why nothing can be measured on this device, or None."""
    place = torch.device(device)
    if place.type != "cuda":
        return None
    if not torch.cuda.is_available():
        return f"torch {torch.__version__} sees no GPU"
    if (place.index or 0) >= torch.cuda.device_count():
        return f"there are {torch.cuda.device_count()} GPUs and no {device}"
    return None


def prepare(device, threads):
    """Settings for the whole process."""
    for message in ("Sparse CSR tensor support is in beta", "Sparse invariant checks are implicitly disabled"):
        warnings.filterwarnings("ignore", message=message)
    torch.set_num_threads(threads)
    # Strobe's products are fp32; cuDNN's recurrences would take TF32 by themselves.
    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = False
    place = torch.device(device)
    if place.type == "cuda":
        torch.cuda.set_device(place.index or 0)  # a device without a number is refused


def versions(device):
    name = torch.cuda.get_device_name() if torch.device(device).type == "cuda" else "CPU, for checking the script"
    return {"torch": torch.__version__, "cuda": torch.version.cuda, "scipy": scipy.__version__, "device": name}


class Forms:
    """The forms of one shape, which share its graph. Without a device: as compare_models.py makes them on the CPU."""

    def __init__(self, shape, threads, device=None):
        self.shape, self.threads, self.device = shape, threads, device
        self._graph = self._product = None

    def make(self, model):
        s = self.shape
        if model in evolve_dysat.MODELS:
            if self._graph is None:
                self._graph = evolve_dysat.Graph(s["steps"], s["vertices"], s["density"], self.threads, device=self.device)
            return evolve_dysat.on_graph(model, self._graph, s["width"])
        if self._product is None:
            matrix = recurrent_models.make_matrix(s["vertices"], s["steps"], s["density"])
            self._product = recurrent_models.Product(matrix, self.threads, self.device)
        return recurrent_models.MODELS[model](s, self._product)


def difference(gradients, others):
    """Describes how gradients differ from those that they should equal, or None."""
    if len(gradients) != len(others):
        return f"{len(gradients)} gradients instead of {len(others)}"
    pairs = [(mine.cpu(), theirs.cpu()) for mine, theirs in zip(gradients, others)]
    largest = max(float(theirs.abs().max()) for _, theirs in pairs)
    for number, (mine, theirs) in enumerate(pairs):
        if mine.shape != theirs.shape:
            return f"gradient {number} has shape {list(mine.shape)} instead of {list(theirs.shape)}"
        far, bound = float((mine - theirs).abs().max()), OF_PARAMETER * float(theirs.abs().max()) + OF_MODEL * largest
        if not far <= bound:  # NaN is wrong as well
            return f"gradient {number} of shape {list(mine.shape)} differs by {far:.3g}, allowed are {bound:.3g}"
    return None


def check(model, shape, threads, device):
    """Describes how the model's gradients on the device differ from the CPU's on a small graph, or None."""
    gradients = []
    for place in (device, None):
        peer = Forms({**shape, **SMALL}, threads, place).make(model)
        peer.epoch()
        gradients.append(peer.gradients())
    return difference(*gradients)


class Replay:
    """An epoch captured as a CUDA graph."""

    def __init__(self, peer):
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):  # memory and choices of the first epochs are no part of the graph
            for _ in range(3):
                peer.epoch()
        torch.cuda.current_stream().wait_stream(side)
        wanted = [gradient.clone() for gradient in peer.gradients()]
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            peer.epoch()
        self.graph.replay()
        wrong = difference(peer.gradients(), wanted)
        if wrong:
            raise RuntimeError(f"replayed, {wrong}")

    def epoch(self):
        self.graph.replay()


def first_cause(error):
    """The first line of what happened first: the end of a failed capture raises an error of its own."""
    while error.__context__ is not None:
        error = error.__context__
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def seconds_of(form, device, epochs):
    """Seconds of each epoch, after three of warm-up."""
    return gpu_epoch.timed(torch, form, torch.device(device).type, epochs)


def fastest(peer, device, epochs):
    """The faster of the eager epoch and its graph; and the medians of both, or why there is no graph."""
    found = {"eager_s": statistics.median(seconds_of(peer, device, epochs))}
    if torch.device(device).type != "cuda":
        return peer, {"form": "eager", **found, "no_graph": "not on a GPU"}
    release()
    try:
        with torch.cuda.stream(torch.cuda.current_stream()):  # a failed capture would leave its own as the current one
            replay = Replay(peer)
        found["graph_s"] = statistics.median(seconds_of(replay, device, epochs))
    except RuntimeError as error:
        return peer, {"form": "eager", **found, "no_graph": first_cause(error)}
    if found["graph_s"] < found["eager_s"]:
        return replay, {"form": "graph", **found}
    return peer, {"form": "eager", **found}


def release():
    """Gives memory that is kept for later back, for Strobe's process or the next model."""
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
