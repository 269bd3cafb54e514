"""Options that are declared by the signature and the docstring of a Python function, or of a settings class."""

from __future__ import annotations

import argparse
import inspect
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

NUMBERS: dict[str, Callable[[str], float]] = {"int": int, "float": float}
METAVARS = {"int": "N", "float": "X"}
SEQUENCES = ("Sequence[float]", "tuple[float, ...]", "tuple[float, float, float]")
NAMES = "tuple[str, ...]"


@dataclass(frozen=True)
class SignatureOption:
    """An option of the command line, which stands for one parameter.

    Parameters
    ----------
    name : str
        The parameter.
    default : object
        Its default.
    kinds : tuple of str
        Of its annotation, those that can be read from text: int, float, str, bool, Path, or a sequence of
        numbers or names.
    literals : tuple
        The words, or the numbers, that its docstring lists.
    about : str
        The first sentence of its docstring.
    bounds : pair of float, optional
        The limits in its docstring: "float in [0, 1]".
    """

    name: str
    default: Any
    kinds: tuple[str, ...]
    literals: tuple[Any, ...]
    about: str
    bounds: tuple[float, float] | None = None

    def reader(self) -> dict[str, Any]:
        """Return how `add_argument` reads the option's value."""
        words = self.literals
        number = next((kind for kind in self.kinds if kind in NUMBERS), None)
        if "bool" in self.kinds and not words:
            return {"action": "store_true" if self.default is False else argparse.BooleanOptionalAction}
        if "bool" in self.kinds:
            return {"type": self._read_with(_yes_or_no, "yes, no"), "metavar": "|".join(("yes", "no", *words))}
        if any(kind in SEQUENCES for kind in self.kinds):
            return {"type": float, "nargs": "+", "metavar": "X"}
        if self.kinds == (NAMES,) or isinstance(self.default, tuple):
            return {"type": _names, "metavar": "NAMES"}
        if number is None or ("str" in self.kinds and not words):
            return {"choices": words} if words else {"metavar": "PATH" if "Path" in self.kinds else None}
        if words and not isinstance(words[0], str):
            return {"type": NUMBERS[number], "choices": words}
        about = "a whole number" if number == "int" else "a number"
        return {"type": self._read_with(NUMBERS[number], about), "metavar": "|".join((METAVARS[number], *words))}

    def _read_with(self, kind: Callable[[str], Any], about: str) -> Callable[[str], Any]:
        """Return a reader of numbers, in bounds where the docstring states some, or of the literals."""
        low, high = self.bounds or (-math.inf, math.inf)
        about += "" if self.bounds is None else f" from {low:g} to {high:g}"

        def read(text: str) -> Any:
            if text in self.literals:
                return text
            try:
                value = kind(text)
            except ValueError:
                value = None
            if value is None or not (self.bounds is None or low <= value <= high):
                raise argparse.ArgumentTypeError(f"must be {' or '.join((about, *self.literals))}. Got {text!r}.")
            return value

        return read

    def help(self, note: str | None = None) -> str:
        """Return what `--help` says of the option."""
        if note is None and not (self.default is None or self.default is False or self.default in ("", ())):
            note = f"default: {_written(self.default)}"
        return (self.about if note is None else f"{self.about} ({note})").replace("%", "%%")


class SignatureOptions:
    """The options of a verb that stand for parameters of the functions it calls.

    Every parameter with a default that can be read from text is an option. An option that is not given is not passed,
    so the function's own default holds.

    Parameters
    ----------
    *sources : functions or settings classes
        The functions to call; where two share a parameter, the first one declares it.
    only, skip : sequences of str
        The parameters that are options, or that are not.
    names : mapping, optional
        Other names of options, for parameters whose names mean something else in the verb.
    defaults : mapping, optional
        Values that replace the functions' own defaults.
    notes : mapping, optional
        Text in `--help` in place of the default value.
    metavars : mapping, optional
        The names of values; a tuple of them says how many there are.
    choices : mapping, optional
        The words that a parameter takes, in place of those that its docstring lists.
    prefixes : mapping, optional
        Text before the help of a parameter.

    Examples
    --------
    >>> def build(items, *, depth: int = 3, kind: str = "a"):
    ...     '''Build.
    ...
    ...     Parameters
    ...     ----------
    ...     depth : int
    ...         How deep it is. More takes longer.
    ...     kind : {"a", "b"}
    ...         The kind.
    ...     '''
    >>> options, parser = SignatureOptions(build), argparse.ArgumentParser()
    >>> options.add_to(parser)
    >>> options.given(parser.parse_args(["--depth", "5"]))
    {'depth': 5}
    >>> [option.help() for option in options.options.values()]
    ['how deep it is (default: 3)', 'the kind (default: a)']
    """

    def __init__(
        self,
        *sources: Callable[..., Any],
        only: Sequence[str] | None = None,
        skip: Sequence[str] = (),
        names: Mapping[str, str] | None = None,
        defaults: Mapping[str, Any] | None = None,
        notes: Mapping[str, str] | None = None,
        metavars: Mapping[str, Any] | None = None,
        choices: Mapping[str, tuple[str, ...]] | None = None,
        prefixes: Mapping[str, str] | None = None,
    ) -> None:
        found: dict[str, SignatureOption] = {}
        for source in sources:
            found |= {option.name: option for option in declared(source) if option.name not in found}
        wanted = {name: one for name, one in found.items() if name not in skip and (only is None or name in only)}
        chosen = {name: replace(wanted[name], literals=words) for name, words in (choices or {}).items()}
        self.options = wanted | chosen
        self.names, self.defaults = names or {}, defaults or {}
        self.notes, self.metavars, self.prefixes = notes or {}, metavars or {}, prefixes or {}

    def add_to(self, parser: Any) -> None:
        """Add the options to a parser, or to a group of one; existing options are not changed."""
        known = {action.dest for action in parser._actions}
        for name, option in self.options.items():
            dest = self.names.get(name, name)
            if dest in known:
                continue
            how = option.reader()
            if metavar := self.metavars.get(name):
                how |= {"metavar": metavar, **({"nargs": len(metavar)} if isinstance(metavar, tuple) else {})}
            note = f"default: {self.defaults[name]}" if name in self.defaults else self.notes.get(name)
            flag, help = f"--{dest.replace('_', '-')}", self.prefixes.get(name, "") + option.help(note)
            parser.add_argument(flag, dest=dest, default=argparse.SUPPRESS, help=help, **how).declared_by = option

    def given(self, arguments: argparse.Namespace) -> dict[str, Any]:
        """Return the keyword arguments: the options that were given, and defaults of the command line."""
        dests = {name: self.names.get(name, name) for name in self.options}
        return {**self.defaults, **{name: getattr(arguments, d) for name, d in dests.items() if hasattr(arguments, d)}}


def declared(source: Callable[..., Any]) -> list[SignatureOption]:
    """Return the options that a function's parameters declare, or a settings class's fields."""
    docs, found = parameter_docs(source), []
    for name, parameter in inspect.signature(source).parameters.items():
        annotation = parameter.annotation if isinstance(parameter.annotation, str) else ""
        parts = [part.strip() for part in re.split(r"\|(?![^\[]*\])", annotation)]
        parts = ["str" if part.startswith("Literal[") else part for part in parts]
        kinds = tuple(part for part in parts if part in ("int", "float", "str", "bool", "Path", NAMES, *SEQUENCES))
        if parameter.default is parameter.empty or not kinds:
            continue
        about = docs.get(name, ("", ""))
        literals = _literals(f"{annotation} {about[0]}", kinds)
        stated = re.search(r" in \[([\d.]+), ([\d.]+)\]", about[0])
        bounds = (float(stated[1]), float(stated[2])) if stated else None
        found.append(SignatureOption(name, parameter.default, kinds, literals, first_sentence(about[1]), bounds))
    return found


def parameter_docs(source: Callable[..., Any]) -> dict[str, tuple[str, str]]:
    """Return type and description of every parameter, as the docstring states them in numpydoc's format.

    A description "As in `function`." stands for the one of that function.
    """
    section = re.search(r"^Parameters\n-+\n(.*?)(?=^\w[\w ]*\n-+\n|\Z)", inspect.getdoc(source) or "", re.M | re.S)
    docs: dict[str, tuple[str, str]] = {}
    for head, body in re.findall(r"^(\S.*)\n((?:[ ]+.*\n?|\n)*)", section[1] if section else "", re.M):
        names, _, kind = head.partition(" : ")
        text = " ".join(body.split())
        like = re.match(r"As (?:in|for) `(\w+)`", text)
        others = parameter_docs(_function_named(like[1], source)) if like else {}
        docs |= {name.strip(): others.get(name.strip(), (kind, text)) for name in names.split(",")}
    return docs


def first_sentence(text: str) -> str:
    """Return the first sentence in the style of help texts: without a capital at its beginning or a stop at its end.

    Examples
    --------
    >>> first_sentence("How many (Eq. 5). More is slower."), first_sentence("AdamW's step.")
    ('how many (Eq. 5)', "AdamW's step")
    """
    sentence = re.split(r"(?<=[^\s.])(?<!\bEq)\.(?=\s+[A-Z0-9`\"]|$)", text, maxsplit=1)[0]
    sentence = re.sub(r"; see `[^`]*`$", "", sentence)
    plain = re.match(r"[A-Z](?:[a-z]*\b|\b)", sentence)
    return sentence[:1].lower() + sentence[1:] if plain else sentence


def _function_named(name: str, source: Callable[..., Any]) -> Any:
    """Return the function that a docstring refers to: one of its own module, or of the library."""
    import vizsla

    own = getattr(inspect.unwrap(source), "__globals__", {})
    return own.get(name) or getattr(vizsla, name, None) or (lambda: None)


def _literals(text: str, kinds: Sequence[str]) -> tuple[Any, ...]:
    if braces := re.search(r"(?:\{|Literal\[)(.*?)[\]}]", text.replace("'", '"')):
        words = re.findall(r'"([^"]*)"', braces[1])
        return tuple(words or (int(number) for number in re.findall(r"-?\d+", braces[1])))
    words = re.findall(r'"([^"]*)"', text)
    return tuple(dict.fromkeys(words)) if words and {"int", "float", "bool"} & {*kinds} else ()


def _yes_or_no(text: str) -> bool:
    if text not in ("yes", "no"):
        raise ValueError(text)
    return text == "yes"


def _names(text: str) -> list[str]:
    return text.replace(",", " ").split()


def _written(default: Any) -> str:
    if isinstance(default, bool):
        return "yes" if default else "no"
    if isinstance(default, tuple):
        words = [_written(one) for one in default]
        return (",".join if isinstance(default[0], str) else " ".join)(words)
    return f"{default:g}" if isinstance(default, float) else str(default)
