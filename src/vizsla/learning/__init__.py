"""Learning from clicks: logs, splits, selection of settings, losses, optimizers and checkpoints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from vizsla._internal.lazy import lazy_attribute

if TYPE_CHECKING:
    from vizsla.learning.selection import Choice as Choice
    from vizsla.learning.selection import ChoiceWarning as ChoiceWarning
    from vizsla.methods.bi_encoder import train_bi_encoder as train_bi_encoder
    from vizsla.methods.cross_encoder import train_cross_encoder as train_cross_encoder
    from vizsla.methods.dssm import train_dssm as train_dssm
    from vizsla.methods.jpq.query_adapter import QueryModel as QueryModel
    from vizsla.methods.jpq.settings import JpqSettings as JpqSettings
    from vizsla.methods.jpq.train_jpq import train_jpq as train_jpq
    from vizsla.methods.sidr.settings import SidrSettings as SidrSettings
    from vizsla.methods.sidr.train_sidr import train_sidr as train_sidr
    from vizsla.methods.tokens.taught_tokens import pseudo_clicks as pseudo_clicks
    from vizsla.methods.tokens.taught_tokens import pseudo_queries as pseudo_queries
    from vizsla.methods.tokens.train_tokens import train_tokens as train_tokens

_PUBLIC = {
    "Choice": "vizsla.learning.selection",
    "ChoiceWarning": "vizsla.learning.selection",
    "JpqSettings": "vizsla.methods.jpq.settings",
    "QueryModel": "vizsla.methods.jpq.query_adapter",
    "SidrSettings": "vizsla.methods.sidr.settings",
    "pseudo_clicks": "vizsla.methods.tokens.taught_tokens",
    "pseudo_queries": "vizsla.methods.tokens.taught_tokens",
    "train_bi_encoder": "vizsla.methods.bi_encoder",
    "train_cross_encoder": "vizsla.methods.cross_encoder",
    "train_dssm": "vizsla.methods.dssm",
    "train_jpq": "vizsla.methods.jpq.train_jpq",
    "train_sidr": "vizsla.methods.sidr.train_sidr",
    "train_tokens": "vizsla.methods.tokens.train_tokens",
}

__all__ = list(_PUBLIC)


def __getattr__(name: str) -> Any:
    return lazy_attribute(__name__, _PUBLIC, name)
