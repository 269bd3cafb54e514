"""A training step of SiDR as docs/decisions/methods/sidr.md writes it, over dense matrices, differentiated by torch."""

from __future__ import annotations

import numpy as np

from tests.indexes import tokens_twin as tokens_twin

CLIP, DECAY = 1.0, 0.01


class StepTwin:
    """The model, the loss and AdamW, without anything of the library's training.

    `case` has query texts and item texts as token ids (`queries`, `items`), which tokens each holds (`asked`, `bags`,
    0 or 1), the items' `norms`, the queries' `tables`, and `right`: the items that are no negatives of a query.
    """

    def __init__(self, torch, folder, case, settings, *, item_scale, teacher=None):
        from transformers import BertModel

        self.torch, self.case, self.settings, self.teacher = torch, case, settings, teacher
        self.body = BertModel.from_pretrained(folder, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
        parameter, words = torch.nn.Parameter, self.body.get_input_embeddings().weight.detach().clone()
        self.weight, self.bias = parameter(words), parameter(torch.zeros(len(words)))
        self.query_scale, self.item_factor = parameter(torch.ones(())), parameter(torch.ones(()))
        self.item_scale, scales = item_scale, [self.query_scale, self.item_factor]
        groups = [
            {"params": list(self.body.parameters()), "lr": settings.rate},
            {"params": [self.weight], "lr": settings.head_rate},
            {"params": [self.bias, *([] if settings.paper else scales)], "lr": settings.bias_rate},
        ]
        self.parameters = [each for group in groups for each in group["params"]]
        self.rates = [group["lr"] for group in groups]
        self.optimizer = torch.optim.AdamW(groups, weight_decay=DECAY)

    def values(self, text):
        """elu1p of the highest that the head says of each token at any position."""
        states = self.body(input_ids=self.torch.tensor(text)[None]).last_hidden_state[0]
        highest = (states @ self.weight.T + self.bias).max(dim=0).values
        return self.torch.where(highest > 0, highest + 1, self.torch.exp(highest))

    def kept(self, values, among):
        """1 for the strongest tokens of a text among some."""
        order = sorted(among.tolist(), key=lambda token: -float(values[token]))[: self.settings.tokens]
        mask = self.torch.zeros(len(values))
        mask[order] = 1
        return mask

    def cross_entropy(self, scores, right):
        """Both directions of section 3.3: each query finds its passage, each of the first passages its query."""
        torch, count = self.torch, len(scores)
        others = torch.tensor(right) & ~torch.eye(*scores.shape, dtype=torch.bool)
        scores = scores.masked_fill(others, -torch.inf)
        loss = 0.0
        for row in range(count):
            loss = loss + torch.logsumexp(scores[row], dim=0) - scores[row, row]
            loss = loss + torch.logsumexp(scores[:, row], dim=0) - scores[row, row]
        return loss / count

    def loss(self, pairs):
        """The loss of some clicks, (query, item) each."""
        torch, case, settings = self.torch, self.case, self.settings
        held = np.arange(case["bags"].shape[1]) if settings.paper else np.flatnonzero(case["bags"].any(axis=0))
        bags, norms = torch.tensor(case["bags"]), torch.tensor(case["norms"])
        vectors = []
        for query, _ in pairs:
            values = self.values(case["queries"][query])
            vectors.append(torch.tensor(case["tables"][query]) + self.kept(values, held) * self.query_scale * values)
        asked = [vector.detach().numpy() for vector in vectors]
        found = [
            [item for item, _ in tokens_twin.best(case["bags"] > 0, case["norms"], each, settings.retrieved)]
            for each in asked
        ] if settings.retrieved else [[] for _ in asked]  # fmt: skip
        total = self._learned(pairs, vectors, found, bags, norms, held)
        if settings.semi_parametric:
            own = [item for _, item in pairs]
            passages = own + sorted({item for row in found for item in row} - set(own))
            if settings.paper:
                wrong = [
                    [i for i in row if i not in case["right"][q]] for (q, _), row in zip(pairs, found, strict=True)
                ]
                passages = own + [item for row in wrong for item in row]
            scores = torch.stack(vectors) @ (bags[passages] * norms[passages][:, None]).T
            right = np.array([[item in case["right"][query] for item in passages] for query, _ in pairs])
            plain = self.cross_entropy(scores, right)
            if self.teacher is not None:
                plain = plain + settings.teacher_share * self._taught(pairs, passages, found, scores)
            total = total + plain / 2
        return total

    def _learned(self, pairs, vectors, found, bags, norms, held):
        torch, case, settings = self.torch, self.case, self.settings
        some, passages = pairs[: settings.vectors], [item for _, item in pairs[: settings.vectors]]
        for (query, _), row in zip(some, found, strict=False):
            passages += [item for item in row if item not in case["right"][query]]
        tokens = torch.zeros(bags.shape[1])
        tokens[held] = 1
        if not settings.whole_head:
            texts = [case["asked"][query] for query, _ in some] + [case["bags"][item] for item in passages]
            tokens *= torch.tensor(np.array(texts).any(axis=0).astype(np.float32))
        said, whole = [], []
        for item in passages:
            values = self.values(case["items"][item])
            own = 1 if settings.expand_items else bags[item]
            said.append(own * tokens * (self.kept(values, held) if settings.whole_head else 1) * values)
            begun = bags[item] * norms[item] if settings.item_tokens else 0
            whole.append(begun + self.item_scale * self.item_factor * said[-1])
        right = np.array([[item in case["right"][query] for item in passages] for query, _ in some])
        loss = self.cross_entropy((torch.stack(vectors[: len(some)]) * tokens) @ torch.stack(whole).T, right)
        if settings.semi_parametric:
            plain = torch.tensor(np.array([case["asked"][query] for query, _ in some])) * tokens
            loss = loss + self.cross_entropy(plain @ torch.stack(said).T, right) / 2
        return loss

    def _taught(self, pairs, passages, found, scores):
        """The mean divergence from the teacher's shares of what was found and the query's own item."""
        torch, loss = self.torch, 0.0
        for row, (query, _) in enumerate(pairs):
            listed = [place for place, item in enumerate(passages) if item in found[row] or place == row]
            given = torch.tensor([self.teacher[query][passages[place]] for place in listed])
            wanted = torch.softmax(given, dim=0)
            loss = loss + (wanted * (torch.log(wanted) - torch.log_softmax(scores[row, listed], dim=0))).sum()
        return loss / len(pairs)

    def step(self, pairs, *, factor):
        """Move everything by AdamW, after a gradient of length 1 at most; return the loss before."""
        self.optimizer.zero_grad()
        loss = self.loss(pairs)
        loss.backward()
        given = [each for each in self.parameters if each.grad is not None]
        length = float(np.sqrt(sum(float((each.grad.double() ** 2).sum()) for each in given)))
        for each in given:
            each.grad *= min(1.0, CLIP / length)
        for group, rate in zip(self.optimizer.param_groups, self.rates, strict=True):
            group["lr"] = factor * rate
        self.optimizer.step()
        return float(loss.detach())
