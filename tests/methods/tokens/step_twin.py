"""A token table learned step by step in plain loops, as docs/decisions/methods/token_tables.md describes it."""

from __future__ import annotations

import numpy as np

from tests.indexes import tokens_twin as twin

STRANGERS, SMALL = 8, 1e-8


class TableTwin:
    """Weights and gains as dense arrays.

    Parameters
    ----------
    bags, asked : bool arrays, items × tokens and queries × tokens
        Which tokens each text holds.
    clicks : set of (query, item)
        The log.
    weights : float array
        Where the tokens' weights begin.
    pairs : set of (token, token)
        Which tokens may call which to mind.
    norms : float32 array
        Of the items.
    """

    def __init__(self, bags, asked, clicks, weights, pairs, norms, settings):
        self.bags, self.asked, self.clicks, self.norms, self.settings = bags, asked, clicks, norms, settings
        self.weights, self.gains = weights.astype(np.float64), dict.fromkeys(sorted(pairs), 0.0)
        self.weight_memory, self.gain_memory = np.zeros(len(weights)), dict.fromkeys(self.gains, 0.0)
        met = {pair: {i for q, i in clicks if asked[q, pair[0]] and bags[i, pair[1]]} for pair in self.gains}
        self.trust = {pair: max(len(items), 1) / (max(len(items), 1) + 1) for pair, items in met.items()}

    def row(self, query):
        """A query's weighted tokens: its own tokens' weights, what these call to mind, nothing below 0."""
        row = np.where(self.asked[query], self.weights.astype(np.float32), 0).astype(np.float64)
        for (token, target), gain in self.gains.items():
            if self.asked[query, token]:
                row[target] += np.float32(gain)
        return np.maximum(row, 0).astype(np.float32)

    def against(self, query, item, strangers):
        """The clicked item, what the search finds, and strangers where it finds few; other clicked items left out."""
        row, most = self.row(query), self.settings.negatives
        found = twin.best(self.bags, self.norms, row, most)
        scores = twin.scores(self.bags, self.norms, row)
        against = [item] + [each for each, _ in found if (query, each) not in self.clicks]
        if len(found) < most:
            against += [each for each in strangers if scores[each] == 0 and (query, each) not in self.clicks]
        return against, scores[against].astype(np.float64)

    def step(self, pairs, strangers):
        """Adagrad on the summed cross entropy of the clicked items; return it."""
        loss, by_weight, by_gain = 0.0, np.zeros(len(self.weights)), dict.fromkeys(self.gains, 0.0)
        for (query, item), drawn in zip(pairs, strangers, strict=True):
            against, scores = self.against(query, item, drawn)
            shares = np.exp(scores / self.settings.temperature)
            shares /= shares.sum()
            loss -= np.log(shares[0])
            slopes = np.zeros(self.bags.shape[1])
            for place, (each, share) in enumerate(zip(against, shares, strict=True)):
                slopes += (share - (place == 0)) / self.settings.temperature * self.norms[each] * self.bags[each]
            by_weight += slopes * self.asked[query]
            for token, target in self.gains:
                by_gain[token, target] += slopes[target] * self.asked[query, token]
        self.weight_memory += by_weight**2
        moved = self.weights - self.settings.rate * by_weight / np.sqrt(self.weight_memory + SMALL)
        self.weights = np.maximum(moved, 0)
        for pair, slope in by_gain.items():
            self.gain_memory[pair] += slope**2
            rate = self.settings.rate * self.trust[pair]
            self.gains[pair] -= rate * slope / np.sqrt(self.gain_memory[pair] + SMALL)
        return loss

    def epoch(self, pairs, rng):
        """Go through the clicks in random order; return the mean loss."""
        order, loss = rng.permutation(len(pairs)), 0.0
        for start in range(0, len(order), self.settings.batch):
            chosen = order[start : start + self.settings.batch]
            strangers = rng.integers(0, len(self.bags), (len(chosen), STRANGERS))
            loss += self.step([pairs[number] for number in chosen], strangers)
        return loss / len(pairs)
