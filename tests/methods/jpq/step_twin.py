"""A whole training step of JPQ as docs/decisions/methods/jpq.md and the paper write it, differentiated by torch."""

from __future__ import annotations

import numpy as np


class JpqTwin:
    """Adapter and centroids in float64, with the loss and AdamW written out.

    Parameters
    ----------
    codes, centroids, rotation
        Of the index.
    rows : float array, queries × dimensions
        The queries' vectors.
    clicks : list of dict
        For each query its clicked items and their weights.
    vectors : float array, items × dimensions
        The uncompressed items, whose inner products are also the teacher's scores.
    """

    def __init__(self, torch, index, rows, clicks, vectors, settings):
        self.torch, self.settings, self.clicks, self.vectors = torch, settings, clicks, vectors.astype(np.float64)
        self.codes, self.rotation = index.codes.astype(np.int64), index.rotation
        self.rows, self.dim = rows.astype(np.float64), rows.shape[1]
        self.start = [np.eye(index.dim), index.centroids.astype(np.float64)]
        self.parameters = [values.copy() for values in self.start]
        self.moments = [[np.zeros_like(values), np.zeros_like(values)] for values in self.start]
        self.steps = 0
        self.spread = self._spread(self._scores(self._tensors(), self.rows).numpy())
        self.given = self.rows @ self.vectors.T
        self.teacher_spread = self._spread(self.given)

    def _tensors(self):
        return [self.torch.tensor(values) for values in self.parameters]

    def _spread(self, scores):
        best = -np.sort(-scores, axis=1)[:, : self.settings.depth]
        return np.median(best.std(axis=1))

    def _scores(self, parameters, rows):
        """Every item's score: the sum over sub-spaces of the rotated query's piece times the code's centroid."""
        torch, (adapter, centroids) = self.torch, parameters
        wide = np.pad(rows, ((0, 0), (0, len(adapter) - rows.shape[1])))
        rotated = torch.tensor(wide) @ adapter.T
        if self.rotation is not None:
            rotated = rotated @ torch.tensor(self.rotation.astype(np.float64)).T
        size = centroids.shape[0] * centroids.shape[2]
        rotated = torch.nn.functional.pad(rotated, (0, size - rotated.shape[1]))
        items = torch.cat([centroids[part, self.codes[:, part]] for part in range(len(centroids))], dim=1)
        return rotated @ items.T

    def _synthetic(self, count, seed):
        """Items drawn at random, each moved as a query lies from an item that was clicked for it."""
        pick = np.random.default_rng(seed)
        pairs = [(query, item) for query, items in enumerate(self.clicks) for item in items]
        items, models = pick.integers(0, len(self.vectors), count), pick.integers(0, len(pairs), count)
        drawn = []
        for item, (query, clicked) in zip(items, [pairs[number] for number in models], strict=True):
            at, away = (vector / np.linalg.norm(vector) for vector in (self.vectors[item], self.vectors[clicked]))
            moved = at + self.rows[query] - away
            drawn.append(moved / np.linalg.norm(moved))
        return np.array(drawn).reshape(count, self.dim), [{int(item): 1.0} for item in items]

    def _click_loss(self, scores, clicked, negatives):
        """One query's loss by its clicked items and their shares, against its negatives, best first."""
        torch, loss = self.torch, 0.0
        others = scores[negatives]
        for item, weight in clicked.items():
            margins = scores[item] - others
            if self.settings.loss == "softmax":
                one = torch.logsumexp(torch.cat([scores[item][None], others]), dim=0) - scores[item]
            elif self.settings.loss == "hinge":
                one = torch.clamp(1 - margins, min=0).mean()
            elif self.settings.loss == "ranknet":
                one = torch.log(1 + torch.exp(-margins)).mean()
            else:
                rank, one = 1 + int((margins < 0).sum()), 0.0
                for place, margin in enumerate(margins[torch.argsort(-others)]):
                    other = place + 1 if margin < 0 else place + 2
                    swap = abs(1 / np.log2(1 + rank) - 1 / np.log2(1 + other))
                    one = one + swap * torch.log(1 + torch.exp(-margin))
            loss = loss + weight / sum(clicked.values()) * one
        return loss

    def _divergence(self, query, scores, clicked, negatives):
        best = np.argsort(-self.given[query], kind="stable")[: self.settings.depth]
        listed = sorted({*clicked, *negatives[: self.settings.depth], *best.tolist()})
        torch, sharpness = self.torch, self.settings.sharpness
        wanted = torch.softmax(torch.tensor(self.given[query][listed] * sharpness / self.teacher_spread), dim=0)
        return (wanted * (torch.log(wanted) - torch.log_softmax(scores[listed], dim=0))).sum()

    def step(self, numbers, *, factor):
        """Move adapter and centroids; return the loss before."""
        torch, settings = self.torch, self.settings
        rows, clicks = self.rows[numbers], [self.clicks[number] for number in numbers]
        count = round(settings.synthetic_queries * len(numbers))
        drawn, about = self._synthetic(count, [settings.seed, 1, self.steps])
        rows, clicks = np.concatenate([rows, drawn]), clicks + about
        learned = [each.requires_grad_() for each in self._tensors()]
        coded = self._scores(learned, rows)
        scale = settings.sharpness / self.spread
        scores = coded
        if settings.stage == "negatives":
            adapted = torch.tensor(rows) @ learned[0][: self.dim, : self.dim].T
            scores = adapted @ torch.tensor(self.vectors).T
        click_loss_weight = settings.click_loss_weight if settings.stage == "distillation" else 1.0
        loss = 0.0
        for row, clicked in enumerate(clicks):
            order = np.argsort(-coded[row].detach().numpy(), kind="stable")
            negatives = [item for item in order.tolist() if item not in clicked][: settings.negatives]
            loss = loss + click_loss_weight * self._click_loss(scale * scores[row], clicked, negatives) / len(clicks)
            if click_loss_weight < 1 and row < len(numbers):
                apart = self._divergence(numbers[row], scale * scores[row], clicked, negatives)
                loss = loss + (1 - click_loss_weight) * apart / len(numbers)
        loss.backward()
        self._move([np.zeros(each.shape) if each.grad is None else each.grad.numpy() for each in learned], factor)
        return float(loss.detach())

    def _move(self, gradients, factor):
        settings = self.settings
        gradients[0][self.dim :] = 0
        length = np.sqrt(sum((each**2).sum() for each in gradients))
        self.steps += 1
        learns = [True, settings.stage in ("centroids", "distillation")]
        rates = settings.adapter_rate, settings.centroid_rate
        for number, gradient in enumerate(gradients):
            if not learns[number]:
                continue
            gradient = gradient * min(1.0, settings.clip / length)
            mean, square = self.moments[number]
            mean[...] = 0.9 * mean + 0.1 * gradient
            square[...] = 0.999 * square + 0.001 * gradient**2
            ahead = mean / (1 - 0.9**self.steps) / (np.sqrt(square / (1 - 0.999**self.steps)) + 1e-8)
            values, rate = self.parameters[number], factor * rates[number]
            values -= rate * ahead
            values -= rate * settings.decay * (values - self.start[number])
