"""A long row of numbered transactions whose effect is known, for writers that are killed or fail on the way."""

from vizsla import Item, Recipe, where

OPTIONS = {"members": {"words": Recipe.of("bm25")}, "metadata": {"price": "number"}, "flush_rows": 6}
QUIET = ("flush", "maintain", "compact")
"""Steps that change no item."""


def kind(step):
    return (
        "add",
        "add",
        "click",
        "upsert",
        "many",
        "flush",
        "delete",
        "metadata",
        "add",
        "maintain",
        "where",
        "compact",
    )[step % 12]


def item(step, number, word):
    return Item(f"{step}-{number}", f"{word} fig of step {step}", "", {"price": step % 7})


def alive(state, count):
    return list(state)[: max(0, min(count, len(state) - 4))]


def after(state, step):
    """Return the items, as {id: (text, price)}, after one more step; `state` stays as it is."""
    made, what = dict(state), kind(step)
    if what == "add":
        _put(made, [item(step, number, "new") for number in range(3)])
    elif what == "upsert":
        _put(made, [Item(id, f"changed fig of step {step}", "", {"price": 3}) for id in alive(state, 2)])
    elif what == "many":
        _put(made, [item(step, 0, "many")])
        for id in alive(state, 2):
            del made[id]
        _put(made, [item(step, 1, "many")])
    elif what == "delete":
        for id in alive(state, 2):
            del made[id]
    elif what == "metadata":
        for id in alive(state, 2):
            made[id] = (made[id][0], 6)
    elif what == "where":
        made = {id: (text, price) for id, (text, price) in made.items() if price != 2}
    return made


def _put(made, items):
    for each in items:
        made.pop(each.id, None)
        made[each.id] = (each.text, each.metadata["price"])


def take(engine, state, step):
    """Make one step with the engine, whose items are `state`."""
    what = kind(step)
    if what == "add":
        engine.add([item(step, number, "new") for number in range(3)])
    elif what == "click":
        engine.clicks([("fig", id) for id in alive(state, 2)])
    elif what == "upsert":
        engine.upsert([Item(id, f"changed fig of step {step}", "", {"price": 3}) for id in alive(state, 2)])
    elif what == "many":
        with engine.transaction() as changes:
            changes.add([item(step, 0, "many")])
            changes.delete(alive(state, 2))
            changes.add([item(step, 1, "many")])
    elif what == "delete":
        engine.delete(alive(state, 2))
    elif what == "metadata":
        engine.update_metadata({id: {"price": 6} for id in alive(state, 2)})
    elif what == "where":
        engine.delete(where=where("price=2"))
    else:
        getattr(engine, what)()


def held(engine):
    """Return the items of an engine as `after` does."""
    generation = engine.generation(metadata=True)
    details = generation.items.details
    rows = [(details.text(number), int(details.of(number)["price"])) for number in range(len(generation.items))]
    return dict(zip(generation.items, rows, strict=True))


def check_answers(engine, state):
    """Compare answers with those of a fresh build, bit for bit."""
    assert engine.check() == []
    if not state:
        return
    fresh = Recipe.of("bm25").build([Item(id, text) for id, (text, _) in state.items()])
    for query in ("fig", "new fig", "changed many"):
        wanted, found = fresh(query, 50), engine.search(query, 50)
        assert found.ids == wanted.ids
        assert found.scores.tolist() == wanted.scores.tolist()
