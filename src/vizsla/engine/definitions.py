"""Members as the catalog stores them: live ones, those that are built whole, and expressions over other members."""

from __future__ import annotations

import importlib
import json
import re
import sqlite3
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from difflib import get_close_matches
from typing import Any

from vizsla.base.recipe import BUILDERS, NESTED_SETTINGS, Binding, Recipe
from vizsla.compose.parser import METHODS, tokens_of
from vizsla.engine.catalog import put_setting, setting
from vizsla.engine.member import LiveMember
from vizsla.engine.segments import Files, stored_files, stored_folder
from vizsla.errors import FormatError, InputError, RecipeError

LIVE, STATIC, COMPOSITE = "live", "static", "composite"
SIGNAL = "signal"
"""The kind of recipes that need only the metadata of the items that there are."""
LEXICAL = ("bm25", "tfidf")
"""Kinds that learn from nothing but the items."""
OF_ITEMS = (*LEXICAL, "typo_tolerant", "dense", "pq", "late_interaction", "sidr", "composition", SIGNAL)
"""Kinds that are made of items and an encoder, without clicks: the first search builds them."""
_NAME = re.compile(r"[A-Za-z_]\w{0,63}")

CACHE = "cache"
"""What an EmbeddingCache is called among the bindings: members that encode texts ask it first."""
MEMBERS = ("lexical", "fields", "tokens", "vector", "pefa", "typo", "memory", "whole")
REGISTRY = tuple(f"{name}_member" for name in MEMBERS)
"""Modules of live members, imported when a member needs one; the first class that accepts a recipe takes it."""


@dataclass(frozen=True)
class TrainingMoment:
    """What a member that is built whole was built of.

    Attributes
    ----------
    generation : int
        The catalog's generation.
    time : float
        When, in seconds since 1970.
    last_item, last_click : int
        The largest numbers of a row and of a click that there were.
    items, clicks : int
        How many there were.
    """

    generation: int
    time: float
    last_item: int
    last_click: int
    items: int
    clicks: int


@dataclass(frozen=True)
class Definition:
    """A member.

    Attributes
    ----------
    name : str
        By which expressions and `using` name it.
    type : {"live", "static", "composite"}
        Whether it follows every change, is built whole, or is made at every moment: of members, or of all items.
    number : int
        Its number in the catalog.
    recipe : dict, optional
        Of a live or static member, as JSON has it; of a composite one that is no expression, such as adjusted answers.
    expression : str
        Of a composite member; empty where it has a recipe.
    settled : dict
        The settings that a live member has chosen.
    artifact : str
        The folder of a static member, inside of the engine; empty until it is built.
    files : dict
        Digest of that folder.
    trained : TrainingMoment, optional
        What a static member was built of, and what a live one has settled on.
    objects : dict of str to str
        The folders of encoders that are stored in the engine, by fingerprint.
    references : dict of str to dict
        Descriptions of encoders whose model lies elsewhere, by fingerprint.
    """

    name: str
    type: str
    number: int = 0
    recipe: dict[str, Any] | None = None
    expression: str = ""
    settled: dict[str, Any] = field(default_factory=dict)
    artifact: str = ""
    files: Files = field(default_factory=dict)
    trained: TrainingMoment | None = None
    objects: dict[str, str] = field(default_factory=dict)
    references: dict[str, dict[str, Any]] = field(default_factory=dict)

    @property
    def needs(self) -> list[str]:
        """The names of members that it is made of."""
        if self.expression:
            return names_in(self.expression)
        return [] if self.recipe is None else Recipe.stored(self.recipe).members

    @property
    def shown(self) -> str:
        """Its expression, or what kind of recipe it has."""
        recipe = self.recipe or {}
        return self.expression or str(recipe.get("settings", {}).get("operation") or recipe.get("recipe"))

    @property
    def reads_metadata(self) -> bool:
        """Whether its answers depend on the metadata of items: signals, and rules that boost."""
        return self.type == COMPOSITE and self.recipe is not None and _reads_metadata(Recipe.stored(self.recipe))

    @property
    def is_made_of_items(self) -> bool:
        """Whether it is made of the items that there are, at the first search after a change: words in fields."""
        return self.type == COMPOSITE and self.recipe is not None and self.recipe.get("recipe") in LEXICAL

    @property
    def waits_for_clicks(self) -> bool:
        """Whether it learns from clicks, so that it is not built before it is asked for."""
        return self.recipe is None or not _is_of_items(Recipe.stored(self.recipe))

    @property
    def remembers(self) -> bool:
        """Whether clicks of the very query that is asked count: of PEFA, unless clicks shall not count at all."""
        recipe = self.recipe or {}
        return recipe.get("recipe") == "pefa" and recipe["settings"].get("weight") != 1

    @property
    def half_life(self) -> float | None:
        """The days that a live member has settled, after which a click weighs half."""
        days: float | None = self.settled.get("half_life")
        return days

    @property
    def last_click(self) -> int:
        """The number of the last click that a static member was built of."""
        return 0 if self.trained is None else self.trained.last_click

    def to_json(self) -> str:
        """Return all but name and number as the catalog holds them."""
        known = asdict(self)
        return json.dumps({name: value for name, value in known.items() if name not in ("name", "number")})

    @classmethod
    def from_json(cls, number: int, name: str, text: str) -> Definition:
        """Read what `to_json` gave."""
        known = json.loads(text)
        trained = None if known["trained"] is None else TrainingMoment(**known["trained"])
        made = cls(**{**known, "name": name, "number": number, "trained": trained})
        made._check()
        return made

    def _check(self) -> None:
        """Raise FormatError for what no engine stores."""
        texts = all(isinstance(text, str) for text in (self.name, self.type, self.expression, self.artifact))
        held = (self.recipe or {}, self.settled, self.files, self.objects, self.references)
        tables = all(isinstance(table, dict) for table in held)
        tables = tables and all(isinstance(each, dict) for each in self.references.values())
        moment = self.trained is None or all(type(number) in (int, float) for number in asdict(self.trained).values())
        if not texts or not tables or not moment or self.type not in (LIVE, STATIC, COMPOSITE):
            raise FormatError(f"The catalog must define members. Got {self!r:.120}: restore a backup.")
        for folder in (*([self.artifact] if self.artifact else []), *self.objects.values()):
            stored_folder(folder)
        stored_files(json.dumps(self.files))

    def but(self, **changes: Any) -> Definition:
        """Return it with some changes."""
        return replace(self, **changes)


def names_in(expression: str) -> list[str]:
    """Return the names in a composition string that stand for members.

    Examples
    --------
    >>> names_in("0.4*words.normalized('minmax', depth=50) + 0.6*clicks")
    ['words', 'clicks']
    """
    tokens = tokens_of(expression)
    found = []
    for at, token in enumerate(tokens):
        after_dot = at > 0 and tokens[at - 1].text == "."
        option = at + 1 < len(tokens) and tokens[at + 1].text == "="
        if token.kind == "name" and not option and not (after_dot and token.text in METHODS):
            found.append(token.text)
    return list(dict.fromkeys(found))


def defined(name: str, given: Any, known: Mapping[str, Definition]) -> Definition:
    """Return the definition of a new member: of a recipe, of a retriever that has one, or of an expression.

    Parameters
    ----------
    name : str
        The name.
    given : Recipe, Retriever or str
        What it is.
    known : mapping
        The members that there are already, which it may name.
    """
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise InputError(f"A member's name must be letters, digits and _. Got {name!r:.60}.")
    if isinstance(given, str):
        if not given.strip():
            raise InputError(f"A member must be a recipe or an expression. Got an empty text for {name!r}.")
        made = Definition(name, COMPOSITE, expression=given)
    else:
        recipe = given if isinstance(given, Recipe) else getattr(given, "recipe", None)
        if not isinstance(recipe, Recipe):
            raise InputError(f"A member must be a recipe or an expression. Got {type(given).__name__} for {name!r}.")
        lexical = recipe.kind in LEXICAL and recipe.settings.get("statistics") is None
        kind = COMPOSITE if lexical or is_derived(recipe) else STATIC
        kind = LIVE if member_class(recipe, known) is not None else kind
        made = Definition(name, kind, recipe=recipe.to_dict())
    for each in made.needs:
        if each not in known:
            there = ", ".join(known) or "none"
            close = get_close_matches(each, BUILDERS, 1)
            hint = f" The recipe of that name is `Recipe.of({close[0]!r})`." if close == [each] else ""
            hint = hint or (f" Did you mean the recipe {close[0]!r}?" if close else "")
            raise InputError(
                f"A member must be made of members that are there ({there}). Got {each!r} in {name!r}.{hint}"
            )
    return made


def replacement(definition: Definition, known: Mapping[str, Definition]) -> Definition:
    """Return the definition in place of the member that has its name; both must be made of members alone."""
    name, old = definition.name, known[definition.name]
    if not old.type == definition.type == COMPOSITE:
        raise InputError(f"A member is replaced where it is made of members, as the new one. Got {name!r}: drop it.")
    found, left = set[str](), list(definition.needs)
    while left:
        each = left.pop()
        if each not in found:
            found.add(each)
            left += known[each].needs
    if name in found:
        raise InputError(f"A member must not be made of itself. Got {name!r}.")
    return definition.but(number=old.number)


def is_derived(recipe: Recipe) -> bool:
    """Return whether a recipe is made of members and signals alone: it costs nothing to make it at every moment.

    Examples
    --------
    >>> rule = '{"rules": [{"query": "tv", "pin": ["tv-1"]}]}'
    >>> is_derived(Recipe.of("composition", operation="adjusted", parts=["words"], adjustments=rule, depth=100))
    True
    >>> is_derived(Recipe.of("composition", operation="cut", parts=[Recipe.of("bm25")], k=5))
    False
    """
    if recipe.kind == SIGNAL:
        return True
    parts = recipe.settings.get("parts") if recipe.kind == "composition" else None
    if not isinstance(parts, list):
        return False
    return all(isinstance(part, str) or (isinstance(part, Recipe) and is_derived(part)) for part in parts)


def _reads_metadata(recipe: Recipe) -> bool:
    if recipe.kind == SIGNAL or recipe.settings.get("operation") == "adjusted":
        return True
    parts = recipe.settings.get("parts")
    return isinstance(parts, list) and any(isinstance(part, Recipe) and _reads_metadata(part) for part in parts)


def _is_of_items(recipe: Recipe) -> bool:
    return recipe.kind in OF_ITEMS and all(map(_is_of_items, recipe.nested))


def member_class(recipe: Recipe, known: Mapping[str, Definition]) -> type[LiveMember] | None:
    """Return the class that is exact for a recipe after every change; None where it must be built whole."""
    if any(known[name].type != LIVE for name in recipe.members if name in known):
        return None
    # A class may need to know what a name stands for: PEFA-XS is exact over vectors, and not over words.
    forms = [recipe, _resolved(recipe, known)]
    kinds = (kind for module in REGISTRY for kind in _classes(f"vizsla.engine.{module}"))
    return next((kind for kind in kinds if any(map(kind.accepts, forms))), None)


def _resolved(recipe: Recipe, known: Mapping[str, Definition]) -> Recipe:
    """Return a recipe with the recipes of members in place of their names."""
    named = {
        name: known[value]
        for name, value in recipe.settings.items()
        if name in NESTED_SETTINGS and isinstance(value, str) and value in known
    }
    return recipe.but(**{name: Recipe.stored(each.recipe) for name, each in named.items() if each.recipe is not None})


def inlined(recipe: Recipe, known: Mapping[str, Definition]) -> Recipe:
    """Return a recipe with the recipes of members in place of their names: what is built stands on its own."""
    changes: dict[str, Any] = {}
    for name, value in recipe.settings.items():
        if isinstance(value, Recipe):
            changes[name] = inlined(value, known)
        elif isinstance(value, str) and name in NESTED_SETTINGS and value in known:
            found = known[value].recipe
            if found is None:
                raise InputError(f"`{name}` must name a member with a recipe. Got {value!r}, an expression.")
            changes[name] = inlined(Recipe.stored(found), known)
        elif isinstance(value, list) and name in NESTED_SETTINGS:
            named = {each: Recipe.stored(known[each].recipe or {}) for each in value if isinstance(each, str)}
            changes[name] = [inlined(named[each], known) if isinstance(each, str) else each for each in value]
    return recipe.but(**changes) if changes else recipe


def _classes(name: str) -> list[type[LiveMember]]:
    """Return the classes of live members that a module defines; none where there is no such module."""
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        return []
    kinds = [each for each in vars(module).values() if isinstance(each, type) and issubclass(each, LiveMember)]
    return [each for each in kinds if each.__module__ == name and each.kinds]


def bindings_of(
    recipe: Recipe, given: Mapping[str, Any], live: Mapping[str, Any], members: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the live objects that a recipe names, by the name of the setting.

    Parameters
    ----------
    recipe : Recipe
        The recipe.
    given : mapping
        Objects passed by the user, by the name of a setting or by fingerprint.
    live : mapping
        Objects that recipes brought along, by fingerprint.
    members : mapping
        Live members by name, for settings that name one.
    """
    found: dict[str, Any] = {CACHE: given[CACHE]} if CACHE in given else {}
    for binding in recipe.bindings:
        found[binding.name] = _bound(binding, (given, live))
    for name, value in recipe.settings.items():
        if isinstance(value, str) and name in NESTED_SETTINGS and value in members:
            found[name] = members[value]
    return found


def _bound(binding: Binding, places: tuple[Mapping[str, Any], ...]) -> Any:
    for place in places:
        for key in (binding.fingerprint, binding.name):
            if key in place:
                return place[key]
    raise RecipeError(
        f"The engine must be given `{binding.name}` ({binding.fingerprint}), which a member needs. Got none: pass "
        f'bindings={{"{binding.name}": …}} to `Engine.open`. An encoder that can be saved is stored in the engine.'
    )


def stored_members(connection: sqlite3.Connection) -> dict[str, Definition]:
    """Return all members, those that others are made of first."""
    rows = connection.execute("SELECT m, name, definition FROM members ORDER BY m").fetchall()
    found = {name: Definition.from_json(number, name, text) for number, name, text in rows}
    ordered: dict[str, Definition] = {}

    def put(name: str) -> None:
        if name in found and name not in ordered:
            for each in found[name].needs:
                put(each)
            ordered[name] = found[name]

    for name in found:
        put(name)
    return ordered


def store_member(connection: sqlite3.Connection, definition: Definition) -> int:
    """Store a member, new or changed; return its number."""
    if definition.number:
        sql = "UPDATE members SET name = ?, definition = ? WHERE m = ?"
        connection.execute(sql, (definition.name, definition.to_json(), definition.number))
        return definition.number
    sql = "INSERT INTO members (name, definition) VALUES (?, ?)"
    return int(connection.execute(sql, (definition.name, definition.to_json())).lastrowid or 0)


def default_member(connection: sqlite3.Connection) -> str:
    """Return the name of the member that answers unless another is named."""
    name = setting(connection, "default", "")
    if not isinstance(name, str):
        raise FormatError(f"The catalog must name the default member. Got {name!r:.60}: restore a backup.")
    return name


def set_default(connection: sqlite3.Connection, name: str, known: Mapping[str, Definition]) -> None:
    """Choose the member that answers unless another is named."""
    check_member(name, known)
    put_setting(connection, "default", name)


def check_member(name: str, known: Mapping[str, Any]) -> None:
    """Raise unless there is such a member."""
    if name not in known:
        raise InputError(f"`member` must be one of {', '.join(known) or 'none'}. Got {name!r:.60}.")


def listed_folders(connection: sqlite3.Connection) -> set[str]:
    """Return all folders that the catalog or one of its snapshots names: anything else is an orphan."""
    found = {row[0] for row in connection.execute("SELECT folder FROM segments UNION SELECT folder FROM parts")}
    texts = [row[0] for row in connection.execute("SELECT definition FROM members")]
    for (kept,) in connection.execute("SELECT members FROM snapshots"):
        texts += [each["definition"] for each in json.loads(kept)["members"]]
    for known in map(json.loads, texts):
        found |= {folder for folder in (known["artifact"], *known.get("objects", {}).values()) if folder}
    return {"/".join(stored_folder(name).split("/")[:2]) for name in found}
