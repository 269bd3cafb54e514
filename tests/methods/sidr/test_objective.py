"""SiDR's losses against the paper's formulas, differentiated by torch; the model's values against numpy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from tests.methods.sidr.tiny import model_folder
from vizsla.learning.losses import TokenSide, VectorSide, beta, contrastive, parametric

torch = pytest.importorskip("torch", reason="the extra neural is not installed")
pytest.importorskip("transformers", reason="the extra neural is not installed")
N, M, TOKENS = 3, 7, 11


def paper_loss(scores, excluded):
    """Section 3.3: the mean of both directions, over the pairs that count."""
    scores = scores.masked_fill(torch.from_numpy(excluded), -torch.inf)
    own = torch.arange(len(scores))
    forward = torch.nn.functional.cross_entropy(scores, own)
    return forward + torch.nn.functional.cross_entropy(scores[:, : len(scores)].T, own)


def problem(seed=0):
    rng = np.random.default_rng(seed)
    excluded = rng.random((N, M)) < 0.2
    excluded[np.arange(N), np.arange(N)] = False
    queries, passages = rng.random((N, TOKENS)), rng.random((M, TOKENS))
    held = (rng.random((N, TOKENS)) < 0.4).astype(np.float32)
    return queries.astype(np.float32), passages.astype(np.float32), held, excluded, rng


def test_contrastive_is_the_papers():
    _, _, _, excluded, rng = problem()
    scores = rng.normal(0, 2, (N, M))
    twin = torch.tensor(scores, requires_grad=True)
    loss = paper_loss(twin, excluded)
    loss.backward()
    found = contrastive(scores, excluded)
    assert np.isclose(found.loss, loss.item())
    assert np.allclose(found.by_score, twin.grad.numpy(), atol=1e-6)


@pytest.mark.parametrize("plain", [False, True])
def test_parametric_is_the_papers_for_learned_and_plain_queries(plain):
    queries, passages, held, excluded, _ = problem(1)
    asked = held if plain else queries
    q, p = torch.tensor(asked, requires_grad=True), torch.tensor(passages, requires_grad=True)
    loss = paper_loss(q @ p.T, excluded)
    loss.backward()
    found = parametric(VectorSide(asked, passages, excluded))
    assert np.isclose(found.loss, loss.item(), rtol=1e-5)
    assert np.allclose(found.by_query, q.grad.numpy(), atol=1e-5)
    assert np.allclose(found.by_passage, p.grad.numpy(), atol=1e-5)


def test_beta_is_the_papers_with_norms():
    queries, _, _, excluded, rng = problem(2)
    bags, norms = (rng.random((M, TOKENS)) < 0.4).astype(np.float32), rng.random(M).astype(np.float32)
    side = TokenSide(queries, csr_array(bags), norms, excluded)
    q = torch.tensor(queries, requires_grad=True)
    loss = paper_loss(q @ torch.tensor(bags).T * torch.tensor(norms), excluded)
    loss.backward()
    found = beta(side, side.scores())
    assert np.isclose(found.loss, loss.item(), rtol=1e-5)
    assert np.allclose(side.by_query(found.by_score), q.grad.numpy(), atol=1e-5)


@pytest.mark.parametrize("head", [False, True])
def test_values_are_the_highest_of_all_positions_through_elu1p(head):
    from transformers import BertForMaskedLM, BertModel

    from vizsla.learning.torch_vocabulary import VocabularyModel

    texts = [np.array([2, 7, 9, 3]), np.array([2, 3]), np.array([2, 5, 6, 8, 11, 3])]
    model = VocabularyModel(model_folder(head=head))
    tokens = np.array([1, 5, 20])
    found = model.fixed_values(model.encode(texts), tokens, scale=2.0)
    twin = (BertForMaskedLM if head else BertModel).from_pretrained(model_folder(head=head)).eval()
    for row, text in zip(found, texts, strict=True):
        with torch.no_grad():
            out = twin(input_ids=torch.tensor(text)[None])
            words = twin.get_input_embeddings().weight
            logits = out.logits[0] if head else out.last_hidden_state[0] @ words.T
        highest = logits.numpy().max(axis=0)[tokens]
        assert np.allclose(row, 2 * np.where(highest >= 0, highest + 1, np.exp(highest)), rtol=1e-4)


def test_the_exported_model_gives_the_same_values():
    pytest.importorskip("onnx", reason="the extra onnx is not installed")
    from vizsla.encoders.sidr import VocabularySession
    from vizsla.export.onnx import vocabulary_onnx
    from vizsla.learning.torch_vocabulary import VocabularyModel

    texts = [np.array([2, 7, 9, 3]), np.array([2, 3]), np.array([2, 5, 6, 8, 11, 3])]
    model, tokens = VocabularyModel(model_folder(head=True)), np.array([1, 5, 20])
    session = VocabularySession(vocabulary_onnx(model, tokens), 3, batch=2)
    expected = model.fixed_values(model.encode(texts), tokens)
    for chosen, values in session.values(texts):
        assert np.allclose(values, expected[chosen], rtol=1e-4)


def test_a_step_moves_against_the_gradient_of_the_whole_loss():
    """AdamW's first step has the gradient's sign: that of all losses together, through the transformer."""
    from tests.methods.sidr.test_train import FAST
    from tests.methods.sidr.tiny import dataset, tiny_base
    from vizsla.learning.clicks import ClickLog
    from vizsla.learning.torch_vocabulary import VocabularyModel
    from vizsla.methods.sidr.settings import SidrSettings
    from vizsla.methods.sidr.train_sidr import _texts
    from vizsla.methods.sidr.trainer import SidrTraining
    from vizsla.methods.sidr.training_data import prepared

    base, data = tiny_base(), dataset()
    settings = SidrSettings(**{**FAST, "warm_up": 0.0, "rate": 1e-4, "head_rate": 1e-4, "bias_rate": 1e-4})
    ready = prepared(base, ClickLog.of(data, base.items), _texts(base, data), settings)
    training = SidrTraining(VocabularyModel(model_folder()), ready.training_data, settings)
    clicks = np.arange(8)
    first = training.step(clicks)
    training.steps_done = 0  # the same draws
    assert training.step(clicks) < first


def test_words_behind_masks_are_learned():
    from vizsla.learning.torch_vocabulary import VocabularyModel, train_masked

    texts = [np.array([2, 7, 8, 9, 3]), np.array([2, 10, 11, 12, 3])] * 4
    losses = train_masked(VocabularyModel(model_folder()), texts, np.arange(5, 20), 4, steps=60, seed=1)
    assert np.mean(losses[-10:]) < np.mean(losses[:10])
