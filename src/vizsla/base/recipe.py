"""Recipe: the kind and the settings of a retriever as plain data, from which it can be built again."""

from __future__ import annotations

import functools
import importlib
import inspect
import json
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
    "typo_tolerant": "vizsla.methods.typo_tolerant:typo_tolerant",
    "tfidf": "vizsla.methods.tfidf:tfidf",
    "token_weights": "vizsla.methods.tokens.model:token_weights",
    "tokens": "vizsla.methods.tokens.model:tokens",
    "train_tokens": "vizsla.methods.tokens.train_tokens:train_tokens",
    "taught_tokens": "vizsla.methods.tokens.taught_tokens:taught_tokens",
    "train_sidr": "vizsla.methods.sidr.train_sidr:train_sidr",
    "sidr": "vizsla.methods.sidr.model:sidr",
    "click_memory": "vizsla.methods.remembered_clicks:click_memory",
    "cold_item_boost": "vizsla.methods.cold_items:cold_item_boost",
    "xrlinear": "vizsla.methods.xrlinear.build:xrlinear",
    "dense": "vizsla.methods.dense:dense",
    "late_interaction": "vizsla.methods.late_interaction:late_interaction",
    "pq": "vizsla.methods.pq:pq",
    "jpq": "vizsla.methods.jpq.train_jpq:jpq",
    "train_jpq": "vizsla.methods.jpq.train_jpq:train_jpq",
    "pefa": "vizsla.methods.pefa.build:pefa",
    "adacur": "vizsla.methods.cur.adacur:adacur",
    "anncur": "vizsla.methods.cur.adacur:anncur",
    "residual_cur": "vizsla.methods.cur.residual:residual_cur",
    "fuse": "vizsla.methods.fusion.fit:fuse",
    "signal": "vizsla.compose.signal:signal",
    "shards": "vizsla.compose.shards:build_shards",
    "composition": "vizsla.compose.composition:build_composition",
}
"""Which function builds each kind; its module is imported when one is built."""

NESTED_SETTINGS = ("base", "parts", "teacher", "first", "pool", "priors", "scorer", "vectors")
"""Settings that may be other recipes, or names of members."""
EFFORT_SETTING = "effort"
"""A setting of every kind: how hard a search tries, where that was changed after building."""
UNSAVED_ARGUMENTS = ("ids", "clicks", "threads", "path", "checkpoint", "watch", "on")
"""Arguments of builders that do not belong to a recipe."""
PATH_SETTINGS = ("model",)
"""Settings that may be paths: named by a fingerprint only, since a stored recipe must not choose what is opened."""
MAX_DEPTH = 200
MAX_ENTRIES = 256
"""A longer list, such as a log of queries, is a live object: a recipe is written into a manifest."""
MAX_SAVED_NESTING = 12
"""How deep recipes may lie inside each other to be saved."""


class Recipe:
    """The kind and the settings of a retriever: plain data, from which `build` makes one over any dataset.

    Two recipes are equal if their kinds and settings are. Settings that are left out have their defaults. A base may be
    a recipe itself, or the name of a member that `build` is given. Live objects, such as an encoder, are named by their
    fingerprint; the recipe of a retriever finds them in the retriever, if that holds them, and others get them from
    `bindings`. What is neither plain data nor has a fingerprint raises RecipeError.

    Parameters
    ----------
    kind : str
        One of `BUILDERS`.
    settings : mapping
        Arguments of the function that builds the kind.

    Examples
    --------
    >>> from vizsla.data.dataset import Dataset
    >>> fruit = Dataset.of({"f": "a fig", "p": "a pear"}, clicks=[("sweet", "f")])
    >>> recipe = Recipe.of("pefa", base=Recipe.of("bm25", k1=1.2), variant="xs", weight=0.5, calibrated=False)
    >>> recipe
    Recipe.of('pefa', base=Recipe.of('bm25', k1=1.2), variant='xs', weight=0.5, calibrated=False)
    >>> recipe.build(fruit)("sweet").ids
    [['f']]
    >>> Recipe.from_dict(recipe.to_dict()) == recipe
    True
    """

    __slots__ = ("_live", "_owners", "kind", "settings")

    def __init__(self, kind: str, settings: Mapping[str, Any]):
        if not isinstance(kind, str) or kind not in BUILDERS:
            raise InputError(f"`kind` must be one of {', '.join(BUILDERS)}. Got {kind!r:.60}.")
        if not isinstance(settings, Mapping) or not all(isinstance(name, str) for name in settings):
            raise InputError(f"The settings of a recipe must be a mapping of names. Got {settings!r:.100}.")
        self._live: dict[str, Any] = {}
        self._owners: tuple[Retriever, ...] = ()
        self.kind = kind
        self.settings = {
            name: self._plain(name, value) for name, value in settings.items() if name not in UNSAVED_ARGUMENTS
        }

    @classmethod
    def of(cls, kind: str, **settings: Any) -> Recipe:
        """Return the recipe of a kind; a setting that its builder does not have raises."""
        recipe = cls(kind, settings)
        recipe.check_names()
        return recipe

    def but(self, **changes: Any) -> Recipe:
        """Return the recipe with other settings."""
        changed = Recipe(self.kind, self.settings | changes)
        return changed._knowing({**self._live, **changed._live}, (*self._owners, *changed._owners))

    def owned_by(self, owner: Retriever) -> Recipe:
        """Return the recipe of a retriever, which finds the live objects that it needs in there."""
        return self._knowing({}, (owner,))

    @property
    def bare(self) -> Recipe:
        """The recipe without any live object: what a retriever keeps, so that no training data stays with it."""
        return self._knowing({}, ())

    def _knowing(self, live: dict[str, Any], owners: tuple[Retriever, ...]) -> Recipe:
        same = object.__new__(Recipe)
        same.kind, same.settings, same._live, same._owners = self.kind, self.settings, live, owners
        return same

    @property
    def bindings(self) -> list[Binding]:
        """The live objects that are needed, those of nested recipes included."""
        return list(dict.fromkeys(_bindings(self)))

    @property
    def nested(self) -> list[Recipe]:
        """The recipes among its settings."""
        return list(_nested(self))

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
        recipe.check_names()
        return recipe

    @classmethod
    def stored(cls, values: Mapping[str, Any]) -> Recipe:
        """Read what an artifact holds; whether its kind has such settings is checked by `build`, which imports it."""
        return _read_recipe(values, 0).bare

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Recipe) and (self.kind, self.settings) == (other.kind, other.settings)

    def __hash__(self) -> int:
        return hash((self.kind, tuple(self.settings)))

    def __repr__(self) -> str:
        settings = "".join(f", {name}={value!r}" for name, value in self.settings.items())
        return f"Recipe.of({self.kind!r}{settings})"

    def _plain(self, name: str, value: Any) -> Any:
        """Return a setting as plain data; a live object becomes a binding, and a nested recipe keeps none itself."""
        if isinstance(value, np.generic):
            value = value.item()
        if isinstance(value, Path) or (isinstance(value, str) and name in PATH_SETTINGS):
            return self._bound(name, Path(value))
        if value is None or isinstance(value, bool | int | float | str | Binding):
            return value
        if isinstance(value, Recipe):
            self._live.update(value._live)
            self._owners += value._owners
            return value.bare
        if isinstance(value, list | tuple) and (name in NESTED_SETTINGS or len(value) <= MAX_ENTRIES):
            return [self._plain(name, each) for each in value]
        if isinstance(value, Mapping) and is_plain_mapping(value):
            return {key: self._plain(name, each) for key, each in value.items()}
        if (known := getattr(value, "_known_recipe", None)) is not None:
            return self._plain(name, known)
        if isinstance(value, Analyzer) and not hasattr(value, "fingerprint"):
            return value
        return self._bound(name, value)

    def _bound(self, name: str, value: Any) -> Binding:
        mark = fingerprint_of(value)
        if mark is None:
            kind = type(value).__name__
            raise RecipeError(f"`{name}` must be plain data or have a fingerprint, to be in a recipe. Got {kind}.")
        self._live[mark] = value
        return Binding(name, mark)

    def check_names(self) -> None:
        """Raise if the builder has no such setting, of this recipe or of one inside."""
        parameters = inspect.signature(_builder(self.kind)).parameters
        more = any(each.kind is each.VAR_KEYWORD for each in parameters.values())
        for name in () if more else self.settings:
            if name not in (*parameters, EFFORT_SETTING):
                raise InputError(f"`{self.kind}` must have the setting {name!r}. Got none: see `vizsla.{self.kind}`.")
        for nested in _nested(self):
            nested.check_names()


def builds(kind: str, *, data: str | None, noted: bool = True, **fixed: Any) -> Callable[[F], F]:
    """Decorate a builder so that its retrievers have a recipe.

    Parameters
    ----------
    kind : str
        The kind, as `BUILDERS` has it.
    data : str, optional
        The argument that the dataset stands for; None for a function that needs only other retrievers.
    noted : bool
        Whether what is built keeps the recipe; a composition tells its own from its parts.
    **fixed
        Settings that the function stands for, such as `variant="xs"`.
    """

    def decorated(function: F) -> F:
        signature = inspect.signature(function)

        @functools.wraps(function)
        def built(*given: Any, **named: Any) -> Any:
            made = function(*given, **named)
            if noted and not any(made is each for each in (*given, *named.values())):
                _note_built(made, kind, _settings(signature, given, named, data) | fixed)
            return made

        built.data = data  # type: ignore[attr-defined]
        return built  # type: ignore[return-value]

    return decorated


def noted(retriever: Any, recipe: Recipe | None) -> None:
    """Note the recipe of a retriever, without live objects: those that it needs to answer it holds itself."""
    object.__setattr__(retriever, "_recipe", None if recipe is None else recipe.bare)


def _note_built(made: Any, kind: str, settings: dict[str, Any]) -> None:
    """Note how it was built; where an argument has no fingerprint nothing is known."""
    try:
        recipe = Recipe(kind, settings | vars(made).pop("_settled", {}))
    except RecipeError:
        recipe = None
    noted(made, recipe)


def settle(retriever: Any, **chosen: Any) -> None:
    """Say what a builder has chosen in place of "auto": a retriever that is built again keeps it."""
    object.__setattr__(retriever, "_settled", chosen)


def refit(
    retriever: Retriever,
    dataset: Dataset,
    *,
    threads: int = 1,
    members: Mapping[str, Retriever] | None = None,
    **changes: Any,
) -> Any:
    """Build a retriever again from another dataset's clicks; without times, clicks do not decay."""
    recipe = retriever.recipe.but(**changes)
    if dataset.events is None and recipe.settings.get("half_life") is not None:
        recipe = recipe.but(half_life=None)
    return recipe.build(dataset, threads=threads, members=members)


class _Building(NamedTuple):
    """One call of `Recipe.build`."""

    dataset: Dataset
    threads: int
    members: Mapping[str, Any]
    bindings: Mapping[str, Any]

    def built(self, recipe: Recipe, outer: Recipe | None = None) -> Any:
        function = _builder(recipe.kind)
        if outer is None:
            recipe.check_names()
        whole = outer or recipe
        arguments = {name: self._value(name, value, recipe, whole) for name, value in recipe.settings.items()}
        effort = arguments.pop(EFFORT_SETTING, None)
        if function.data is not None:
            arguments[function.data] = self.dataset
        parameters = inspect.signature(function).parameters
        if "threads" in parameters:
            arguments["threads"] = self.threads
        _check_complete(recipe.kind, parameters, arguments)
        made = function(**arguments)
        return made if effort is None or made.effort == effort else made.with_effort(effort)

    def _value(self, name: str, value: Any, recipe: Recipe, whole: Recipe) -> Any:
        if isinstance(value, Recipe):
            # A part over other items than the dataset's says so by its place in `shards`, which builds it by itself.
            if recipe.kind == "shards":
                return value._knowing({**whole._live, **self.bindings}, whole._owners)
            return self.built(value, whole)
        if isinstance(value, list):
            return [self._value(name, each, recipe, whole) for each in value]
        if isinstance(value, Binding):
            return self._bound(value, recipe.kind, whole)
        if isinstance(value, str) and name in NESTED_SETTINGS:
            if value not in self.members:
                known = ", ".join(self.members) or "none"
                raise RecipeError(f"`{name}` must be a recipe or the name of a member ({known}). Got {value!r}.")
            return self.members[value]
        return value

    def _bound(self, binding: Binding, kind: str, whole: Recipe) -> Any:
        for known in (self.bindings, whole._live):
            for key in (binding.fingerprint, binding.name):
                if key in known:
                    return known[key]
        for owner in whole._owners:
            for part in live_parts(owner):
                if getattr(part, "fingerprint", None) == binding.fingerprint:
                    return part
        raise RecipeError(
            f"The recipe of kind {kind!r} must be given `{binding.name}` ({binding.fingerprint}), which is no plain "
            f'data. Got none: pass bindings={{"{binding.name}": …}}, or give a function that builds it in its place.'
        )


def _check_complete(kind: str, parameters: Mapping[str, inspect.Parameter], arguments: Mapping[str, Any]) -> None:
    """Raise unless everything is given that has no default: a recipe of a file may lack anything."""
    for name, parameter in parameters.items():
        several = parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
        if not several and parameter.default is parameter.empty and name not in arguments:
            raise RecipeError(f"The recipe of kind {kind!r} must have the setting {name!r}. Got none: add it.")


def is_plain_mapping(value: Mapping[Any, Any]) -> bool:
    """Whether a setting maps names to numbers or texts, such as fields to weights."""
    kinds = (bool, int, float, str, np.generic)
    return len(value) <= MAX_ENTRIES and all(isinstance(k, str) and isinstance(v, kinds) for k, v in value.items())


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
    elif isinstance(value, str) and name in NESTED_SETTINGS:
        yield value


def _written(value: Any) -> Any:
    if isinstance(value, Recipe):
        return value.to_dict()
    if isinstance(value, Binding):
        return {"binding": value.name, "fingerprint": value.fingerprint}
    if isinstance(value, Analyzer):
        return {"analyzer": value.to_dict()}
    if isinstance(value, dict):
        return {"mapping": value}
    return [_written(each) for each in value] if isinstance(value, list) else value


def _read_recipe(values: Any, depth: int) -> Recipe:
    if not isinstance(values, Mapping) or values.keys() != {"recipe", "settings"} or depth > MAX_DEPTH:
        raise InputError(f"A recipe must have a kind and settings. Got {values!r:.100}.")
    settings = values["settings"]
    read = {name: _read(each, depth) for name, each in settings.items()} if isinstance(settings, Mapping) else settings
    return Recipe(values["recipe"], read)


def _read(value: Any, depth: int) -> Any:
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list) and depth < MAX_DEPTH:
        return [_read(each, depth + 1) for each in value]
    if isinstance(value, Mapping) and "recipe" in value:
        return _read_recipe(value, depth + 1)
    bound = isinstance(value, Mapping) and value.keys() == {"binding", "fingerprint"}
    if bound and all(isinstance(each, str) for each in value.values()):
        return Binding(value["binding"], value["fingerprint"])
    mapping = value.get("mapping") if isinstance(value, Mapping) and len(value) == 1 else None
    if isinstance(mapping, Mapping) and is_plain_mapping(mapping):
        return dict(mapping)
    if isinstance(value, Mapping) and value.keys() == {"analyzer"}:
        from vizsla.text.analyzers import analyzer_of

        return analyzer_of(value["analyzer"])
    numbers = isinstance(value, Mapping) and value and all(type(each) in (int, float) for each in value.values())
    if numbers and is_plain_mapping(value):  # weights, as people write them
        return dict(value)
    raise InputError(f"A setting must be plain, a recipe, a binding or an analyzer. Got {value!r:.100}.")


class Binding(NamedTuple):
    """An object that a recipe needs and cannot store as plain data, such as an encoder.

    Attributes
    ----------
    name : str
        The setting that it stands for.
    fingerprint : str
        Which object it is.
    """

    name: str
    fingerprint: str


def fingerprint_of(value: Any) -> str | None:
    """Return what tells an object from others in every process; None where nothing does.

    Examples
    --------
    >>> fingerprint_of(["a fig"] * 300)
    'list of 300 a0678f3aa2a6e4d1'
    >>> fingerprint_of(print)
    """
    mark = getattr(value, "fingerprint", None)
    if isinstance(mark, str):
        return mark
    if isinstance(value, np.ndarray):
        return None if value.dtype.hasobject else f"array {value.dtype} {value.shape} {_array_digest(value)}"
    if all(isinstance(getattr(value, name, None), np.ndarray) for name in ("data", "indices", "indptr")):
        parts = " ".join(_array_digest(each) for each in (value.data, value.indices, value.indptr))
        return f"{type(value).__name__} {value.shape} {parts}"
    if isinstance(value, Path):
        return f"path {digest(str(value).encode())}"
    if not isinstance(value, list | tuple | Mapping):
        return None
    try:
        written = json.dumps(dict(value) if isinstance(value, Mapping) else value, allow_nan=False)
    except (TypeError, ValueError):
        return None
    kind = "mapping" if isinstance(value, Mapping) else "list"
    return f"{kind} of {len(value)} {digest(written.encode())}"


def live_parts(part: Any) -> Iterator[Any]:
    """Yield an object and all that it says it holds (`_live_parts`), each once.

    Examples
    --------
    >>> from vizsla.methods.bm25 import bm25
    >>> search = bm25(["a fig tree"])
    >>> search.encoder in list(live_parts(search % 5))
    True
    """
    seen, left = set[int](), [part]
    while left:
        each = left.pop()
        if each is not None and id(each) not in seen:
            seen.add(id(each))
            yield each
            left.extend(each._live_parts() if hasattr(each, "_live_parts") else ())


def _array_digest(values: Any) -> str:
    return digest(np.ascontiguousarray(values).reshape(-1).view(np.uint8))
