"""Recipe: the kind and the settings of a retriever as plain data, from which it can be built again."""

from __future__ import annotations

import functools
import importlib
import inspect
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from vizsla.artifacts.manifest import digest
from vizsla.errors import InputError, RecipeError
from vizsla.text.analyzers import Analyzer

if TYPE_CHECKING:
    from vizsla.base.retriever import Retriever
    from vizsla.data.dataset import Dataset

F = TypeVar("F", bound=Callable[..., Any])

BUILDERS = {
    "bm25": "vizsla.methods.bm25:bm25",
    "tfidf": "vizsla.methods.tfidf:tfidf",
    "bag": "vizsla.methods.tokens.model:bag",
    "bag_table": "vizsla.methods.tokens.model:bag_table",
    "tokens": "vizsla.methods.tokens.train_tokens:train_tokens",
    "train_sidr": "vizsla.methods.sidr.train_sidr:train_sidr",
    "sidr": "vizsla.methods.sidr.model:sidr",
    "unclicked": "vizsla.methods.cold_items:cold_item_boost",
    "xrlinear": "vizsla.methods.xrlinear.train_xrlinear:train_xrlinear",
    "dense": "vizsla.methods.dense:dense",
    "late_interaction": "vizsla.methods.late_interaction:late_interaction",
    "pq": "vizsla.methods.pq:pq",
    "jpq": "vizsla.methods.jpq.train_jpq:jpq",
    "train_jpq": "vizsla.methods.jpq.train_jpq:train_jpq",
    "pefa": "vizsla.methods.pefa.build:pefa",
    "pefa_xs": "vizsla.methods.pefa.build:pefa_xs",
    "pefa_max": "vizsla.methods.pefa.build:pefa_max",
    "pefa_xl": "vizsla.methods.pefa.build:pefa_xl",
    "adacur": "vizsla.methods.cur.adacur:adacur",
    "anncur": "vizsla.methods.cur.adacur:anncur",
    "residual_cur": "vizsla.methods.cur.residual:residual_cur",
    "fuse": "vizsla.methods.fusion.fit:fuse",
    "shards": "vizsla.compose.shards:build_shards",
    "composition": "vizsla.compose.composition:build_composition",
}
"""Which function builds each kind; its module is imported when one is built."""

NESTED = ("base", "bag", "parts", "teacher", "first", "pool", "priors", "scorer")
"""Settings that may be other recipes, or names of members."""
EFFORT = "effort"
"""A setting of every kind: how hard a search tries, where that was changed after building."""
UNKEPT = ("ids", "threads", "path", "checkpoint", "watch")
"""Arguments of builders that say nothing about what is built."""
MOST_DEPTH = 200
MOST_ENTRIES = 256
"""A longer list, such as a log of queries, is a live object: a recipe is written into a manifest."""
MOST_SAVED = 12
"""How deep recipes may lie inside each other to be saved."""


class Binding(NamedTuple):
    """A live object that a recipe needs and cannot hold as plain data, such as an encoder.

    Attributes
    ----------
    name : str
        The setting that it stands for.
    fingerprint : str
        Which object it is.
    """

    name: str
    fingerprint: str


class Recipe:
    """The kind and the settings of a retriever: plain data, from which `build` makes one over any dataset.

    Two recipes are equal if their kinds and settings are. Settings that are left out have their defaults. A base may be
    a recipe itself, or the name of a member that `build` is given. Live objects, such as an encoder, are named by their
    fingerprint; the recipe of a retriever finds them in the retriever, and others get them from `bindings`.

    Parameters
    ----------
    kind : str
        One of `BUILDERS`.
    settings : mapping
        Of the function that builds the kind.

    Examples
    --------
    >>> from vizsla.data.dataset import Dataset
    >>> fruit = Dataset.of({"f": "a fig", "p": "a pear"}, clicks=[("sweet", "f")])
    >>> recipe = Recipe.of("pefa_xs", base=Recipe.of("bm25", k1=1.2), weight=0.5, calibrated=False)
    >>> recipe
    Recipe.of('pefa_xs', base=Recipe.of('bm25', k1=1.2), weight=0.5, calibrated=False)
    >>> recipe.build(fruit)("sweet").ids
    [['f']]
    >>> Recipe.from_dict(recipe.to_dict()) == recipe
    True
    """

    __slots__ = ("_live", "_owner", "kind", "settings")

    def __init__(self, kind: str, settings: Mapping[str, Any]):
        if not isinstance(kind, str) or kind not in BUILDERS:
            raise InputError(f"`kind` must be one of {', '.join(BUILDERS)}. Got {kind!r:.60}.")
        self._live: dict[str, Any] = {}
        self._owner: Retriever | None = None
        self.kind = kind
        self.settings = {name: self._plain(name, value) for name, value in settings.items() if name not in UNKEPT}

    @classmethod
    def of(cls, kind: str, **settings: Any) -> Recipe:
        """Return the recipe of a kind; a setting that its builder does not have raises."""
        recipe = cls(kind, settings)
        recipe._check_names()
        return recipe

    def but(self, **changes: Any) -> Recipe:
        """Return the recipe with other settings."""
        changed = Recipe(self.kind, self.settings | changes)
        changed._live, changed._owner = {**self._live, **changed._live}, self._owner
        return changed

    def owned_by(self, owner: Retriever) -> Recipe:
        """Return the recipe of a retriever, which finds the live objects that it needs in there."""
        same = self.but()
        same._owner = owner
        return same

    @property
    def bindings(self) -> list[Binding]:
        """The live objects that are needed, those of nested recipes included."""
        return list(dict.fromkeys(_bindings(self)))

    @property
    def depth(self) -> int:
        """How many recipes lie inside each other, this one included."""
        return 1 + max((each.depth for each in _nested(self)), default=0)

    @property
    def members(self) -> list[str]:
        """The names of members that are needed, those of nested recipes included."""
        return list(dict.fromkeys(_members(self)))

    def build(
        self,
        dataset: Dataset,
        *,
        threads: int = 1,
        members: Mapping[str, Retriever] | None = None,
        bindings: Mapping[str, Any] | None = None,
    ) -> Retriever:
        """Build the retriever over a dataset's items and, where it learns, from its clicks.

        Parameters
        ----------
        dataset : Dataset
            Items and clicks.
        threads : int
            How many to use, where building can use several.
        members : mapping of names to Retriever, optional
            What names in place of nested recipes stand for.
        bindings : mapping, optional
            Live objects by the name of their setting, or by fingerprint.
        """
        made: Retriever = _Building(dataset, threads, members or {}, bindings or {}).built(self)
        return made

    def to_dict(self) -> dict[str, Any]:
        """Return the recipe as JSON has it."""
        return {"recipe": self.kind, "settings": {name: _written(value) for name, value in self.settings.items()}}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Recipe:
        """Read what `to_dict` gave; anything else raises InputError."""
        recipe = cls.stored(values)
        recipe._check_names()
        return recipe

    @classmethod
    def stored(cls, values: Mapping[str, Any]) -> Recipe:
        """Read what an artifact holds; whether its kind has such settings is checked by `build`, which imports it."""
        return _read_recipe(values, 0)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Recipe) and (self.kind, self.settings) == (other.kind, other.settings)

    def __hash__(self) -> int:
        return hash((self.kind, tuple(self.settings)))

    def __repr__(self) -> str:
        settings = "".join(f", {name}={value!r}" for name, value in self.settings.items())
        return f"Recipe.of({self.kind!r}{settings})"

    def _plain(self, name: str, value: Any) -> Any:
        """Return a setting as plain data; a live object becomes a binding, and is kept beside."""
        if isinstance(value, np.generic):
            value = value.item()
        if value is None or isinstance(value, bool | int | float | str | Binding):
            return value
        if isinstance(value, Path):
            return str(value)
        if isinstance(value, Recipe):
            self._live.update(value._live)
            return value
        if isinstance(value, list | tuple) and (name in NESTED or len(value) <= MOST_ENTRIES):
            return [self._plain(name, each) for each in value]
        if (known := getattr(value, "_known_recipe", None)) is not None:
            return self._plain(name, held(known))
        if isinstance(value, Analyzer) and not hasattr(value, "fingerprint"):
            return value
        mark = _fingerprint(value)
        self._live[mark] = value
        return Binding(name, mark)

    def _check_names(self) -> None:
        parameters = inspect.signature(_builder(self.kind)).parameters
        more = any(each.kind is each.VAR_KEYWORD for each in parameters.values())
        for name in () if more else self.settings:
            if name not in (*parameters, EFFORT):
                raise InputError(f"`{self.kind}` must have the setting {name!r}. Got none: see `vizsla.{self.kind}`.")
        for nested in _nested(self):
            nested._check_names()


def builds(kind: str, *, data: str | None) -> Callable[[F], F]:
    """Let a function that builds retrievers note the recipe of each.

    Parameters
    ----------
    kind : str
        The kind, as `BUILDERS` has it.
    data : str, optional
        The argument that the dataset stands for; None for a function that needs only other retrievers.
    """

    def decorated(function: F) -> F:
        signature = inspect.signature(function)

        @functools.wraps(function)
        def built(*given: Any, **named: Any) -> Any:
            made = function(*given, **named)
            if not any(made is each for each in (*given, *named.values())):
                noted(made, Recipe(kind, _settings(signature, given, named, data) | vars(made).pop("_settled", {})))
            return made

        built.data = data  # type: ignore[attr-defined]
        return built  # type: ignore[return-value]

    return decorated


def noted(retriever: Any, recipe: Recipe) -> None:
    """Note the recipe of a retriever."""
    object.__setattr__(retriever, "_recipe", recipe)


def settle(retriever: Any, **chosen: Any) -> None:
    """Say what a builder has chosen in place of "auto": a retriever that is built again keeps it."""
    object.__setattr__(retriever, "_settled", chosen)


def refit(retriever: Retriever, dataset: Dataset, *, threads: int = 1, **changes: Any) -> Any:
    """Build a retriever again from another dataset's clicks; without times, clicks do not decay."""
    recipe = retriever.recipe.but(**changes)
    if dataset.events is None and recipe.settings.get("half_life") is not None:
        recipe = recipe.but(half_life=None)
    return recipe.build(dataset, threads=threads)


class _Building(NamedTuple):
    """One call of `Recipe.build`."""

    dataset: Dataset
    threads: int
    members: Mapping[str, Any]
    bindings: Mapping[str, Any]

    def built(self, recipe: Recipe, outer: tuple[Recipe, ...] = ()) -> Any:
        function = _builder(recipe.kind)
        if not outer:
            recipe._check_names()
        chain = (recipe, *outer)
        arguments = {name: self._value(name, value, chain) for name, value in recipe.settings.items()}
        effort = arguments.pop(EFFORT, None)
        if function.data is not None:
            arguments[function.data] = self.dataset
        if "threads" in inspect.signature(function).parameters:
            arguments["threads"] = self.threads
        made = function(**arguments)
        return made if effort is None or made.effort == effort else made.with_effort(effort)

    def _value(self, name: str, value: Any, chain: tuple[Recipe, ...]) -> Any:
        if isinstance(value, Recipe):
            # A part over other items than the dataset's says so by its place in `shards`, which builds it by itself.
            return value if chain[0].kind == "shards" else self.built(value, chain)
        if isinstance(value, list):
            return [self._value(name, each, chain) for each in value]
        if isinstance(value, Binding):
            return self._bound(value, chain)
        if isinstance(value, str) and name in NESTED:
            if value not in self.members:
                known = ", ".join(self.members) or "none"
                raise RecipeError(f"`{name}` must be a recipe or the name of a member ({known}). Got {value!r}.")
            return self.members[value]
        return value

    def _bound(self, binding: Binding, chain: tuple[Recipe, ...]) -> Any:
        for key in (binding.fingerprint, binding.name):
            if key in self.bindings:
                return self.bindings[key]
        for recipe in chain:
            if binding.fingerprint in recipe._live:
                return recipe._live[binding.fingerprint]
        for recipe in chain:
            if recipe._owner is not None and (found := _found(recipe._owner, binding.fingerprint)) is not None:
                return found
        raise RecipeError(
            f"The recipe of kind {chain[0].kind!r} must be given `{binding.name}` ({binding.fingerprint}), which is no "
            f'plain data. Got none: pass bindings={{"{binding.name}": …}}.'
        )


def held(recipe: Recipe) -> Recipe:
    """Return the recipe with the live objects that its retriever holds, and without the retriever itself."""
    held = recipe.but()
    for binding in held.bindings:
        if binding.fingerprint not in held._live and recipe._owner is not None:
            found = _found(recipe._owner, binding.fingerprint)
            held._live |= {} if found is None else {binding.fingerprint: found}
    held._owner = None
    return held


def _builder(kind: str) -> Any:
    module, _, name = BUILDERS[kind].partition(":")
    return getattr(importlib.import_module(module), name)


def _settings(
    signature: inspect.Signature, given: tuple[Any, ...], named: dict[str, Any], data: str | None
) -> dict[str, Any]:
    """Return the arguments that are not the data and not their defaults."""
    bound, settings = signature.bind(*given, **named), {}
    for name, value in bound.arguments.items():
        if signature.parameters[name].kind is inspect.Parameter.VAR_KEYWORD:
            settings.update(value)
        elif name != data and value is not signature.parameters[name].default:
            settings[name] = value
    return settings


def _fingerprint(value: Any) -> str:
    mark = getattr(value, "fingerprint", None)
    if isinstance(mark, str):
        return mark
    if isinstance(value, np.ndarray):
        return f"array {value.dtype} {value.shape} {digest(np.ascontiguousarray(value).reshape(-1).view(np.uint8))}"
    return f"{type(value).__name__} {id(value):x}"


def _found(thing: Any, fingerprint: str) -> Any:
    """Look for an object in a retriever and its parts."""
    return next((each for each in _inside(thing, set()) if getattr(each, "fingerprint", None) == fingerprint), None)


def _inside(thing: Any, seen: set[int]) -> Iterator[Any]:
    for value in vars(thing).values() if hasattr(thing, "__dict__") else ():
        for each in value if isinstance(value, list | tuple) else (value,):
            if type(each).__module__.startswith("numpy") or isinstance(each, str | int | float) or id(each) in seen:
                continue
            seen.add(id(each))
            yield each
            if (hasattr(each, "items") and hasattr(each, "search")) or hasattr(each, "fingerprint") or _is_part(each):
                yield from _inside(each, seen)


def _is_part(thing: Any) -> bool:
    from vizsla.base.scorer import Scorer

    return isinstance(thing, Scorer)


def _nested(recipe: Recipe) -> Iterator[Recipe]:
    for value in recipe.settings.values():
        yield from (each for each in (value if isinstance(value, list) else [value]) if isinstance(each, Recipe))


def _bindings(value: Any) -> Iterator[Binding]:
    if isinstance(value, Binding):
        yield value
    elif isinstance(value, Recipe | list):
        for each in value.settings.values() if isinstance(value, Recipe) else value:
            yield from _bindings(each)


def _members(value: Any, name: str = "") -> Iterator[str]:
    if isinstance(value, Recipe):
        for each, setting in value.settings.items():
            yield from _members(setting, each)
    elif isinstance(value, list):
        for each in value:
            yield from _members(each, name)
    elif isinstance(value, str) and name in NESTED:
        yield value


def _written(value: Any) -> Any:
    if isinstance(value, Recipe):
        return value.to_dict()
    if isinstance(value, Binding):
        return {"binding": value.name, "fingerprint": value.fingerprint}
    if isinstance(value, Analyzer):
        return {"analyzer": value.to_dict()}
    return [_written(each) for each in value] if isinstance(value, list) else value


def _read_recipe(values: Any, depth: int) -> Recipe:
    if not isinstance(values, Mapping) or values.keys() != {"recipe", "settings"} or depth > MOST_DEPTH:
        raise InputError(f"A recipe must have a kind and settings. Got {values!r:.100}.")
    settings = values["settings"]
    if not isinstance(settings, Mapping) or not all(isinstance(name, str) for name in settings):
        raise InputError(f"The settings of a recipe must be a mapping of names. Got {settings!r:.100}.")
    return Recipe(values["recipe"], {name: _read(value, depth) for name, value in settings.items()})


def _read(value: Any, depth: int) -> Any:
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list) and depth < MOST_DEPTH:
        return [_read(each, depth + 1) for each in value]
    if isinstance(value, Mapping) and "recipe" in value:
        return _read_recipe(value, depth + 1)
    bound = isinstance(value, Mapping) and value.keys() == {"binding", "fingerprint"}
    if bound and all(isinstance(each, str) for each in value.values()):
        return Binding(value["binding"], value["fingerprint"])
    if isinstance(value, Mapping) and value.keys() == {"analyzer"}:
        from vizsla.text.analyzers import analyzer_of

        return analyzer_of(value["analyzer"])
    raise InputError(f"A setting must be plain, a recipe, a binding or an analyzer. Got {value!r:.100}.")
