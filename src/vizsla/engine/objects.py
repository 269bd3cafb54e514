"""Encoders of members: opened by name, stored in the engine or described there, and restored by any process."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vizsla.artifacts.artifact import Artifact, load
from vizsla.base.encoder import Encoder
from vizsla.base.queries import Queries
from vizsla.base.recipe import Binding, Recipe, live_parts
from vizsla.encoders.cache import EmbeddingCache
from vizsla.encoders.open import encoder_of
from vizsla.encoders.persistence import MODEL_KINDS, describe, from_root, restored_encoder
from vizsla.engine.segments import NewFolder, Writing

if TYPE_CHECKING:
    from vizsla.engine.definitions import Definition
    from vizsla.engine.follower import Follower

ARTIFACTS = "artifacts"
ENCODER = "encoder"
"""The setting of recipes that may name an encoder: a path, a hub id, or a mapping with options."""
EMBEDDINGS = "embeddings.sqlite"
"""The file of an engine that keeps what models have made of texts."""
CACHED_KINDS = ("dense", "pq")


def with_encoders(given: Any) -> Any:
    """Return a recipe with the encoders that it names opened; anything else as it is.

    Only what a caller passes is opened so: a recipe in a catalog has fingerprints in place of names.
    """
    return _opened(given, given._live) if isinstance(given, Recipe) else given


def _opened(recipe: Recipe, live: Mapping[str, Any]) -> Recipe:
    changes: dict[str, Any] = {}
    for name, value in recipe.settings.items():
        if isinstance(value, Recipe):
            changes[name] = _opened(value, live)
        elif isinstance(value, list) and any(isinstance(each, Recipe) for each in value):
            changes[name] = [_opened(each, live) if isinstance(each, Recipe) else each for each in value]
        elif name == ENCODER:
            named = live.get(value.fingerprint) if isinstance(value, Binding) else value
            if isinstance(named, str | Path | Mapping):
                changes[name] = encoder_of(named)
    return recipe.but(**changes) if changes else recipe


def keep_objects(follower: Follower, given: Any) -> None:
    """Remember the live objects that a recipe or a retriever brings along."""
    recipe = given if isinstance(given, Recipe) else getattr(given, "recipe", None)
    if isinstance(recipe, Recipe):
        follower.objects |= recipe._live
        for owner in recipe._owners:
            marks = {getattr(part, "fingerprint", None): part for part in live_parts(owner)}
            follower.objects |= {mark: part for mark, part in marks.items() if isinstance(mark, str)}


def with_objects(follower: Follower, definition: Definition, known: Mapping[str, Definition]) -> Definition:
    """Return a member's definition with its encoders: the folders of those that are saved, how to find the others."""
    stored = {mark: folder for each in known.values() for mark, folder in each.objects.items()}
    folders: dict[str, str] = {}
    references: dict[str, dict[str, Any]] = {}
    for binding in [] if definition.recipe is None else Recipe.stored(definition.recipe).bindings:
        mark = binding.fingerprint
        encoder = follower.objects.get(mark) or follower.bindings.get(mark) or follower.bindings.get(binding.name)
        form = getattr(encoder, "stored_form", encoder)
        if mark in stored:
            folders[mark] = stored[mark]
        elif not isinstance(form, Encoder) or form.fingerprint != mark:
            continue  # which must be given to every process
        elif isinstance(form, Artifact):
            folders[mark] = _saved(follower, form)
        elif (found := describe(form)).get("kind") in (*MODEL_KINDS, "http"):
            references[mark] = _located(found, follower.catalog.folder)
    return definition.but(objects=folders, references=references)


def _saved(follower: Follower, encoder: Artifact) -> str:
    with NewFolder(follower.catalog.folder, ARTIFACTS) as new:
        with Writing(new.path):
            encoder.save(new.path / ENCODER)
        new.sealed()
        new.keep()
    return f"{new.name}/{ENCODER}"


def _located(description: dict[str, Any], engine: Path) -> dict[str, Any]:
    """Return a description with the way from the engine, too, where it names a folder: both may move together."""
    name = description.get("name")
    if not isinstance(name, str) or not Path(name).is_absolute():
        return description
    return {**description, "path": os.path.relpath(os.path.realpath(name), os.path.realpath(engine))}


def _found(description: dict[str, Any], engine: Path) -> dict[str, Any]:
    """Return a description without the way from the engine, which counts where the named folder is gone."""
    name = description.get("name")
    gone = isinstance(name, str) and "\0" not in name and Path(name).is_absolute() and not Path(name).exists()
    if gone:
        return from_root(description, engine)
    return {key: value for key, value in description.items() if key != "path"}


def load_objects(
    engine: Path, definitions: Iterable[Definition], objects: Mapping[str, Any], given: Mapping[str, Any], verify: bool
) -> dict[str, Any]:
    """Return the encoders of members that this process neither has nor was given, by fingerprint.

    A model that is only described is loaded at its first text, and nothing is downloaded for it.
    """
    known = {*objects, *given, *(getattr(each, "fingerprint", None) for each in given.values())}
    found: dict[str, Any] = {}
    for definition in definitions:
        for mark, folder in definition.objects.items():
            if mark not in known and mark not in found:
                found[mark] = load(engine / folder, verify=verify)
        for mark, description in definition.references.items():
            if mark not in known and mark not in found:
                found[mark] = restored_encoder(_found(description, engine))
    return found


class ItemCache(EmbeddingCache):
    """Keeps the vectors of items, of which an engine has a known number; queries are encoded each time."""

    def queries(self, texts: Sequence[str]) -> Any:
        """Encode query texts."""
        return self.encoder.queries(texts)

    def encoded(self, queries: Queries) -> Any:
        """Encode a call's queries."""
        return self.encoder.encoded(queries)


def cache_path(engine: Path, definition: Definition, known: Mapping[str, Definition]) -> Path | None:
    """Return where the vectors of a member's texts are kept; None where its encoders are no models.

    When a process opens the engine, it encodes the newest items, which are in no segment, and the queries of clicks:
    with a model that takes long.
    """
    wanted = definition.references or any(known[each].references for each in definition.needs if each in known)
    return engine / EMBEDDINGS if wanted else None


def with_cache(definition: Definition, objects: Mapping[str, Any], engine: Path) -> dict[str, Any]:
    """Return encoders by fingerprint, those that are models behind the engine's cache where the kind allows it."""
    found = dict(objects)
    if (definition.recipe or {}).get("recipe") in CACHED_KINDS:
        for mark in definition.references:
            if isinstance(encoder := found.get(mark), Encoder):
                found[mark] = ItemCache(encoder, engine / EMBEDDINGS)
    return found
