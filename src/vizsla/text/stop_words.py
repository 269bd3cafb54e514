"""Words that carry grammar rather than meaning, by language; with the pieces that an apostrophe leaves."""

from __future__ import annotations

_ENGLISH = """
a an the this that these those i me my mine myself we us our ours ourselves you your yours yourself
yourselves he him his himself she her hers herself it its itself they them their theirs themselves who whom
whose which what am is are was were be been being have has had having do does did doing will would shall
should can could may might must and or but nor if then else than so because as while although though unless
until whether of at by for with about against between into through during before after above below to from
up down in out on off over under upon within without among per via again further once here there when where
why how all any both each few more most other another some such no not only own same too very just also ever
s t d m ll re ve don doesn didn isn aren wasn weren hasn haven hadn won wouldn shouldn couldn mustn needn
ain
"""

STOP_WORDS: dict[str, tuple[str, ...]] = {"english": tuple(_ENGLISH.split())}
"""The built-in lists."""
