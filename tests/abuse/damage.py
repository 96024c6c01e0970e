"""Small objects of every class that can be saved, their use, and the damage done to their files.

A file is damaged as chance does it (a byte is flipped, the end is cut off), and as a stranger
would: arrays and headers are changed and the digest is made anew, so that only the checks behind
it are left. What still loads is used, for that is where bad indices would crash.
"""

import json
import math
import struct
from collections.abc import Callable, Iterator
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from safetensors.numpy import save as to_bytes

from herder import (
    RBM,
    BoostedClassifier,
    BoostedField,
    ConditionalHerder,
    DiscriminativeRBM,
    GaussianMixture,
    HiddenHerder,
    KernelHerder,
    MomentHerder,
    PairwiseModel,
    ParameterError,
    ParametricHerder,
    RBMModel,
    gibbs,
    herd,
    herd_density,
    herded_gibbs,
    kernel_herd,
    load,
    save,
)
from herder.core.checkpoint import Checkpoint
from herder.core.state import ModelFileError, read_file
from herder.io import HOMES
from tests.abuse.running import DIFFERENT, REFUSED, SAME
from tests.golden import files

#: A file that a stranger made, and that loads: it may answer otherwise.
ACCEPTED = "accepted"

MIXTURE = GaussianMixture([[-3.0, 0.0], [3.0, 1.0]], 1.0, [0.6, 0.4])
#: Too dense for a table of probabilities, so that chains keep gains, and herds a hash table.
DENSE = PairwiseModel.random(12, coupling_sd=0.3, random_state=3)
RUNS: dict[str, Callable[..., Any]] = {
    **files.SAMPLERS,
    "gibbs-functions": lambda n, **run: gibbs(
        files.grid(), n, functions={"on": lambda rows: rows.sum(axis=1)}, pairs="all", **run
    ),
    "gibbs-dense": lambda n, **run: gibbs(DENSE, n, **run),
    "herded-dense": lambda n, **run: herded_gibbs(DENSE, n, **run),
}
TABLES: dict[str, tuple[Any, dict[str, Any]]] = {
    "bits": (files.BITS, {}),
    "words": (files.WORDS, {"restarts": "visited"}),
    "cliques": (files.BITS, {"cliques": [[0, 1, 2], [3]], "encoding": "+-1", "rates": [2.0] * 9}),
}


class Thing(NamedTuple):
    """How an object is made, and what it answers when it is used; its use may change it."""

    make: Callable[[], Any]
    use: Callable[[Any], Any]


def rows_for(model: Any, rows: Any) -> Any:
    """Return rows of as many columns as a model has."""
    width = min(model.n_features_in_, 10_000)
    return rows if width == rows.shape[1] else np.resize(rows, (len(rows), width))


def use_classifier(model: Any) -> Any:
    new = rows_for(model, files.NEW)
    found = [model.predict(new), model.decision_function(new), repr(model.summary())]
    if hasattr(model, "predict_proba"):
        found.append(model.predict_proba(new))
    labels = np.resize(model.classes_, len(new))
    return [*found, model.partial_fit(new, labels).decision_function(new), model.to_state()]


def use_machine(model: Any) -> Any:
    low, high = model.states_
    rows = low + (high - low) * rows_for(model, files.BITS[:20])
    found = [model.score_samples(rows), str(model.diagnostics_), model.sample(5, random_state=1)]
    is_text = isinstance(model.alpha, str)
    if model.method == "pl" and model.penalty in ("l2", None) and not is_text:
        model.partial_fit(rows)
    return [*found, model.couplings_, model.to_state()]


def use_rbm(model: Any) -> Any:
    if isinstance(model, RBMModel):  # a file of an RBM holds one
        return use_rbm_model(model)
    low, high = model.model_.states
    rows = low + (high - low) * rows_for(model, files.BITS[:20]).astype(float)
    found = [model.score_samples(rows), model.transform(rows), model.sample(3, random_state=1)]
    return [*found, str(model.summary()), model.to_state()]


def use_rbm_model(model: Any) -> Any:
    rows = np.full((1, model.n_visible), model.states[-1])
    return [model.free_energy(rows), model.hidden_probabilities(rows), model.to_state()]


def use_discriminative(model: Any) -> Any:
    rows = rows_for(model, files.ROWS)
    found = [model.predict(rows), model.predict_log_proba(rows), str(model.summary())]
    return [*found, model.to_state()]


def use_conditional(model: Any) -> Any:
    rows = rows_for(model, files.ROWS)
    labels = model.classes_[np.arange(len(rows)) % len(model.classes_)]
    found = [model.predict_proba(rows), str(model.summary()), model.to_state()]
    return [*found, model.partial_fit(rows, labels).predict(rows)]


def use_boosted(field: Any) -> Any:
    rows = rows_for(field, files.ROWS)
    if field._frame.states is not None:
        low, high = field._frame.states
        rows = low + (high - low) * rows_for(field, files.BITS[:20]).astype(float)
    found = [field.score_samples(rows), field.predict(rows), field.sample(3)]
    return [*found, str(field.summary()), field.to_state()]


def use_boosted_classifier(model: Any) -> Any:
    rows = rows_for(model, files.ROWS)
    return [model.predict_proba(rows), model.predict(rows), model.to_state()]


def use_hidden(herder: Any) -> Any:
    rows = rows_for(herder, files.BITS[:20])
    rows = rows if herder.to_state()[1]["low"] == 0 else 2 * rows - 1
    found = [herder.sample(3), herder.sample(3, drive="rates"), herder.transform(rows)]
    return [*found, str(herder.summary()), herder.to_state()]


def use_parametric(herder: Any) -> Any:
    return [herder.sample(3), str(herder.summary()), herder.to_state()]


def use_field(model: Any) -> Any:
    rows = np.full((1, model.n_sites), model.states[-1])
    runs = [gibbs(model, 3).samples, herded_gibbs(model, 3).samples]
    return [model.energy(rows), model.conditional(rows), repr(model), *runs, model.to_state()]


def use_run(key: str) -> Callable[[Any], Any]:
    def use(position: Any) -> Any:
        run = RUNS[key](9, resume=position)
        assert_sane(run)
        return [files.answers_of_run(run), str(run), run.position.to_state()]

    return use


def assert_sane(run: Any) -> None:
    """Averages of what was counted are shares: no forged count may make others of them."""
    for shares in (run.marginals, run.pair_marginals):
        assert shares is None or (np.all(shares >= 0) and np.all(shares <= 1)), shares


def use_position(position: Any) -> Any:
    more = MomentHerder(restarts="visited").fit(files.BITS).herd(9, resume=position)
    return [more.samples, more.position.to_state()]


def use_herder(model: Any) -> Any:
    found = [repr(model.sample(9)), model.herd(5).samples, str(model.diagnostics_)]
    return [*found, list(islice(model.stream(), 3)), model.to_state()]


def use_checkpoint(key: str) -> Callable[[Any], Any]:
    def use(found: Checkpoint) -> Any:
        steps = herd(
            files.SYSTEMS[key][0], found.weights, state=found.state, t=found.t, scale=found.scale
        )
        try:
            states = [step.state for step in islice(steps, 12)]
        except OverflowError as error:  # a herd refuses weights that grow beyond 2^62
            states = [str(error)]
        return [states, found.to_state()]

    return use


def use_thinned(model: Any) -> Any:
    rows = rows_for(model, files.ROWS[:7])
    return [model.transform(rows), model.get_feature_names_out(), model.to_state()]


def use_picks(picks: Any) -> Any:
    more = kernel_herd(files.ROWS, 4, resume=picks)
    return [str(picks), more.indices, more.scores, more.to_state()]


def use_density(found: Any) -> Any:
    more = herd_density(MIXTURE, 2, resume=found)
    return [str(found), found.errors, more.points, more.to_state()]


def checkpoint(key: str) -> Checkpoint:
    system, weights = files.SYSTEMS[key]
    step = next(islice(herd(system, weights), 6, None))
    return Checkpoint(step.weights, step.state, step.t, step.scale, {"sums": np.arange(3.0)})


def _things() -> dict[str, Thing]:
    found = {
        key: Thing(lambda k=key: files.classifier(k), use_classifier) for key in files.CLASSIFIERS
    }
    for key in (*files.MACHINES, "stream"):
        found[f"machine-{key}"] = Thing(lambda k=key: files.machine(k), use_machine)
    found |= {"pairwise": Thing(files.grid, use_field), "potts": Thing(files.potts, use_field)}
    found["dense"] = Thing(lambda: DENSE, use_field)
    found["rbm"] = Thing(lambda: RBM(3, n_epochs=2).fit(files.BITS.astype(float)), use_rbm)
    found["rbm-herding"] = Thing(
        lambda: RBM(2, method="herding", n_epochs=1).fit(files.BITS.astype(float)), use_rbm
    )
    found["discriminative"] = Thing(
        lambda: DiscriminativeRBM(2, max_iter=2).fit(files.ROWS, files.LABELS["two"]),
        use_discriminative,
    )
    for kind in ("joint", "one-vs-rest"):
        found[f"conditional-{kind}"] = Thing(
            lambda k=kind: ConditionalHerder(2, multi_class=k, max_iter=2, n_snapshots=3).fit(
                files.ROWS, files.LABELS["three"]
            ),
            use_conditional,
        )
    for features, table in (
        ("rbm", files.BITS),
        ("tree", files.BITS),
        ("dimple", files.ROWS),
        ("tree", files.ROWS),
    ):
        found[f"boosted-{features}{table.shape[1]}"] = Thing(
            lambda f=features, t=table: BoostedField(f, n_rounds=2).fit(t), use_boosted
        )
    found["boosted-classes"] = Thing(
        lambda: BoostedClassifier(BoostedField("tree", n_rounds=2)).fit(
            files.ROWS, files.LABELS["three"]
        ),
        use_boosted_classifier,
    )
    found["hidden"] = Thing(lambda: HiddenHerder(2, n_steps=9).fit(files.BITS), use_hidden)
    found["parametric"] = Thing(
        lambda: ParametricHerder(2, n_hidden=2, n_steps=3, n_tuning_steps=3).fit(files.BITS),
        use_parametric,
    )
    found["rbm-model"] = Thing(lambda: RBMModel([[1.0, -1.0], [0.5, 0.0]]), use_rbm_model)
    for key, run in RUNS.items():
        found[f"position-{key}"] = Thing(lambda r=run: r(40).position, use_run(key))
    found["position-moments"] = Thing(
        lambda: MomentHerder(restarts="visited").fit(files.BITS).herd(25).position, use_position
    )
    for key, (table, params) in TABLES.items():
        found[f"herder-{key}"] = Thing(
            lambda t=table, p=params: MomentHerder(**p).fit(t), use_herder
        )
    for key in files.SYSTEMS:
        found[f"checkpoint-{key}"] = Thing(lambda k=key: checkpoint(k), use_checkpoint(key))
    found["thinned"] = Thing(lambda: KernelHerder(5).fit(files.ROWS), use_thinned)
    found["picks"] = Thing(lambda: kernel_herd(files.ROWS, 5), use_picks)
    found["density"] = Thing(lambda: herd_density(MIXTURE, 4, auxiliary=20), use_density)
    return found


THINGS = _things()

#: Files of 0.1.0, which have no digest, and how they are used.
OLD = {path.stem: path for path in sorted(files.FOLDER.glob("*.safetensors"))}


def write_all(folder: Path) -> None:
    """Write the file of every object."""
    for key, thing in THINGS.items():
        save(thing.make(), folder / f"{key}.safetensors", meta={"note": 1})


# Damage by chance


def flips(key: str, raw: bytes) -> Iterator[list[Any]]:
    """Yield every byte with one bit changed, and with all."""
    for place in range(len(raw)):
        yield ["flip", key, place, 1 << place % 8]
        yield ["flip", key, place, 255]


def cuts(key: str, raw: bytes) -> Iterator[list[Any]]:
    for length in range(len(raw)):
        yield ["cut", key, length]


# Forgery

DTYPES = ("bool", "uint8", "int8", "int16", "int32", "int64", "uint64", "float32", "float64")
SHAPES: dict[str, Callable[[Any], Any]] = {
    "scalar": lambda a: np.zeros((), a.dtype) + a.ravel()[:1].sum().astype(a.dtype),
    "flat": np.ravel,
    "deep": lambda a: a[None],
    "turned": np.transpose,
    "shorter": lambda a: np.atleast_1d(a)[:-1],
    "longer": lambda a: np.concatenate([np.atleast_1d(a), np.atleast_1d(a)[-1:]]),
    "twice": lambda a: np.concatenate([np.atleast_1d(a)] * 2),
    "none": lambda a: np.atleast_1d(a)[:0],
    "narrow": lambda a: np.atleast_1d(a)[..., :-1],
    "wide": lambda a: np.concatenate([np.atleast_1d(a), np.atleast_1d(a)[..., -1:]], axis=-1),
    "hollow": lambda a: np.zeros((0, 10**9), a.dtype),
    "vast": lambda a: np.zeros((10**9, 0), a.dtype),
    "reversed": lambda a: np.atleast_1d(a)[::-1],
}
REALS = (math.nan, math.inf, -math.inf, -1.0, 0.0, 1.0, 0.5, 1e308, -1e308, 5e-324)
WHOLES = (-(2**63), -(2**31), -128, -1, 0, 1, 2, 3, 100, 255, 2**31, 2**40, 2**62, 2**63 - 1)
PLAIN: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 2, 3, 10**5, 10**11, 2**62, 2**63, 10**30),
    *(0.5, -0.5, math.nan, math.inf, -math.inf, 1e308),
    *("", "x", "a\0b", "<U400000000", "1e30000000", "os"),
    *([], [0], [[]], [-1, 10**11], ["x", "y"], {}, {"x": 1}, {"list": [1]}, {"pairs": [[[], 1]]}),
)

#: Parameters of which a large number means long work, as it does in Python.
LONG_WORK = ("burn_in",)


def forgeries(key: str, arrays: dict[str, Any], header: dict[str, Any]) -> Iterator[list[Any]]:
    """Yield every way to change an array or a part of the header."""
    for name, value in arrays.items():
        yield ["forge", key, "drop", name]
        for kind in DTYPES:
            yield ["forge", key, "dtype", name, kind]
        for shape in SHAPES:
            yield ["forge", key, "shape", name, shape]
        for number in range(len(REALS) if value.dtype.kind == "f" else len(WHOLES)):
            for place in dict.fromkeys(("all", 0, value.size // 2, value.size - 1)):
                yield ["forge", key, "value", name, number, place]
        for seed in range(3):
            yield ["forge", key, "noise", name, seed]
    yield ["forge", key, "extra"]
    for path in paths_of(header):
        yield ["forge", key, "delete", path]
        for number, value in enumerate(PLAIN):
            if path[-1] in LONG_WORK and type(value) is int and value > 10**5:
                continue
            yield ["forge", key, "header", path, number]
    for name in HOMES:
        yield ["forge", key, "class", name]
    for number in range(len(SEALS)):
        yield ["forge", key, "seal", number]


def paths_of(plain: Any, at: tuple[Any, ...] = ()) -> Iterator[list[Any]]:
    """Yield the path of everything in a header, lists and mappings included."""
    if at:
        yield list(at)
    if isinstance(plain, dict):
        for key, value in plain.items():
            yield from paths_of(value, (*at, key))
    elif isinstance(plain, list):
        for place, value in enumerate(plain):
            yield from paths_of(value, (*at, place))


#: Format versions and digests that do not agree: the version, and what becomes of the digest.
SEALS: list[tuple[Any, Any]] = [
    *((version, "made") for version in (0, 1, 3, -1, True, 2.0, "2", None, [2], 10**30)),
    *((2, digest) for digest in (..., None, "", "x", 3, [], "0" * 64)),
]


def forged(arrays: dict[str, Any], header: dict[str, Any], how: list[Any]) -> bytes:
    """Return the file with one change; by default its digest is that of the changed parts."""
    arrays, header = dict(arrays), json.loads(json.dumps(header))
    kind, *rest = how
    digest: Any = "made"
    if kind == "drop":
        del arrays[rest[0]]
    elif kind == "dtype":
        arrays[rest[0]] = arrays[rest[0]].astype(rest[1])
    elif kind == "shape":
        arrays[rest[0]] = SHAPES[rest[1]](arrays[rest[0]])
    elif kind == "value":
        arrays[rest[0]] = _with_value(arrays[rest[0]], *rest[1:])
    elif kind == "noise":
        old = arrays[rest[0]]
        noise = np.random.default_rng(rest[1]).bytes(old.nbytes)
        arrays[rest[0]] = np.frombuffer(noise, old.dtype).reshape(old.shape)
    elif kind == "extra":
        arrays |= {"extra": np.zeros(3), "7/at/x": np.zeros(3), "x.y": np.zeros((0, 2))}
    elif kind == "class":
        header["class"] = rest[0]
    elif kind == "seal":
        header["format_version"], digest = SEALS[rest[0]]
    else:
        *above, last = rest[0]
        part = header
        for step in above:
            part = part[step]
        if kind == "delete":
            del part[last]
        else:
            part[last] = PLAIN[rest[1]]
    return sealed(arrays, header, digest)


def _with_value(old: Any, number: int, place: Any) -> Any:
    new = old.copy()
    value = REALS[number] if old.dtype.kind == "f" else WHOLES[number]
    with np.errstate(over="ignore"):
        cast = np.array(value).astype(old.dtype)
    if place == "all":
        new[...] = cast
    elif new.size:
        new.flat[place] = cast
    return new


def sealed(arrays: dict[str, Any], header: dict[str, Any], digest: Any = "made") -> bytes:
    """Return a file with a digest of its parts, another, or (...) none."""
    plain = {name: np.ascontiguousarray(value) for name, value in arrays.items()}
    for name, value in arrays.items():
        plain[name] = plain[name].reshape(value.shape)  # ascontiguousarray has no scalars
    if digest == "made":
        found = sha256(json.dumps(header, sort_keys=True).encode())
        for name in sorted(plain):
            value = plain[name]
            found.update(f"\0{name}\0{value.dtype.name}\0{value.shape}\0".encode())
            found.update(value.tobytes())
        digest = found.hexdigest()
    if digest is not ...:
        header = {**header, "digest": digest}
    return to_bytes(plain, metadata={"meta": json.dumps(header, ensure_ascii=False)})


def safetensors_header(raw: bytes) -> dict[str, Any]:
    """Return what safetensors says of a file."""
    (length,) = struct.unpack("<Q", raw[:8])
    return json.loads(raw[8 : 8 + length])


# Judgement


def make(folder: str) -> Callable[[list[Any]], str]:
    """Return what damages a file, loads it and uses it; the files lie in ``folder``."""
    place = Path(folder)
    raws = {key: (place / f"{key}.safetensors").read_bytes() for key in THINGS}
    raws |= {f"old/{key}": path.read_bytes() for key, path in OLD.items()}
    states = {key: read_file(place / f"{key}.safetensors")[:2] for key in THINGS}
    uses = {key: thing.use for key, thing in THINGS.items()}
    uses |= {f"old/{key}": _old_use(key) for key in OLD}
    file = place / "damaged.safetensors"
    known: dict[str, str] = {}
    for key, raw in raws.items():
        file.write_bytes(raw)
        known[key] = told(uses[key](load(file)))

    def attempt(case: list[Any]) -> str:
        kind, key, *how = case
        raw = raws[key]
        if kind == "flip":
            changed = bytearray(raw)
            changed[how[0]] ^= how[1]
            raw = bytes(changed)
        elif kind == "cut":
            raw = raw[: how[0]]
        else:
            raw = forged(*states[key], how)
        file.write_bytes(raw)
        try:
            found = load(file)
        except (ModelFileError, OSError) as error:
            if str(file) not in str(error):
                raise
            return REFUSED
        try:
            answer = told(uses[key](found))
        except ParameterError:
            return REFUSED
        if answer == known[key]:
            return SAME
        return DIFFERENT if kind != "forge" and not key.startswith("old/") else ACCEPTED

    return attempt


def _old_use(key: str) -> Callable[[Any], Any]:
    if key == "position-moments":
        return lambda at: MomentHerder(encoding="01").fit(files.BITS).herd(9, resume=at).samples
    return THINGS[key].use


def told(answer: Any) -> str:
    """Return an answer as text, bit for bit."""
    if isinstance(answer, np.ndarray):
        bits = answer.tolist() if answer.dtype == object else answer.tobytes().hex()
        return f"{answer.dtype}{answer.shape}{bits}"
    if isinstance(answer, dict):
        return "{" + ",".join(f"{key}:{told(value)}" for key, value in answer.items()) + "}"
    if isinstance(answer, list | tuple):
        return "[" + ",".join(map(told, answer)) + "]"
    return repr(answer)
