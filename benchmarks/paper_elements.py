"""Elements of the papers that Vizsla does not have as they stand there: what it has instead, and why.

What a preset has to the letter, and what the defaults do instead, is in `docs/reference/papers.md`.
"""

from __future__ import annotations

from dataclasses import dataclass

STATES = ("built, not measured", "another way", "cannot be run here", "not built")
HERE = "weights, collections and a GPU are not here"


@dataclass(frozen=True)
class PaperElement:
    """A system, setting or collection of a paper.

    Parameters
    ----------
    paper : str
        A key of `benchmarks.papers.TITLES`.
    what : str
        The element.
    state : str
        One of `STATES`.
    why : str
        What there is instead, or why there is nothing.
    """

    paper: str
    what: str
    state: str
    why: str

    @property
    def cells(self) -> list[str]:
        """The row of the table, without the paper."""
        return [self.what, self.state, self.why]


ELEMENTS = (
    PaperElement("pefa", "Sentence-BERT, DPR, MPNet, Sentence-T5, GTR, E5 as the base", "cannot be run here",
                 "`SentenceEncoder(name)` loads them; their weights are not here, so that MiniLM stands for all"),
    PaperElement("pefa", "DSI, NCI, SEAL", "not built", "generative retrievers: they need a GPU to train, and no step "
                 "of PEFA uses them"),
    PaperElement("pefa", "query-document pairs by docT5query", "another way",
                 "`vizsla.learning.pseudo_clicks` makes pairs of titles and spans; `generate=` takes a model"),
    PaperElement("pefa", "NQ-320K, Trivia-QA", "cannot be run here",
                 "the collections are not here; a folder of items, queries and judgments is read as any other"),
    PaperElement("pefa", "three product search logs", "cannot be run here", "private"),
    PaperElement("jpq", "Annoy, FALCONN, FLANN, ScaNN, OPQ + ScaNN", "not built",
                 "rows of `benchmarks.pq --only rivals` are what Faiss has: LSH, ITQ, PCA, HNSW + PQ, IMI, RaBitQ"),
    PaperElement("jpq", "doc2query, docT5query, DeepCT, HDCT", "cannot be run here", "trained on MS MARCO with a GPU"),
    PaperElement("jpq", "RandNeg, BM25Neg, ANCE, STAR, ADORE", "built, not measured",
                 "`train_bi_encoder(mining=...)`: in-batch, a retriever's, mined and live negatives; one is measured "
                 "per collection"),
    PaperElement("jpq", "TCT-ColBERT", "built, not measured", "`train_bi_encoder(teacher=...)` with late interaction"),
    PaperElement("jpq", "MS MARCO passages and documents, TREC DL 2019", "cannot be run here",
                 "a folder in the format of MS MARCO, or an id of ir_datasets, is read; the collections are not here"),
    PaperElement("jpq", "Figure 3: t-SNE of negatives", "not built", "a picture of one query; Table 6 has the figures"),
    PaperElement("jpq", "AdamW's weight decay", "another way", "the paper gives no number; the preset takes 0.01"),
    PaperElement("xrlinear", "one unknown id for all n-grams", "another way", "one per kind of n-gram"),
    PaperElement("xrlinear", "DSSM with layers, and BERT", "another way",
                 "`train_dssm` is bags of n-grams; `train_bi_encoder` is a transformer"),
    PaperElement("xrlinear", "online A/B test", "cannot be run here", "needs users"),
    PaperElement("adacur", "ZESHEL, SciDocs, HotpotQA", "cannot be run here",
                 "late interaction, alignment and a cross-encoder on squad-sent and wordnet-senses stand for them"),
    PaperElement("adacur", "a cross-encoder from three averaged teachers by squared error", "built, not measured",
                 '`train_cross_encoder(teacher=..., teacher_loss="squares")`; a mean of teachers is a sum of them'),
    PaperElement("adacur", "dual encoders distilled from the cross-encoder", "built, not measured",
                 "`train_bi_encoder(teacher=...)`"),
    PaperElement("adacur", "MUVER", "another way", "late interaction"),
    PaperElement("sidr", "DPR, SPLADE, uniCOIL, ANCE, LexMAE, Contriever, GTR, E5, Dragon", "cannot be run here", HERE),
    PaperElement("sidr", "VDR", "another way", "the rows `as VDR` of `benchmarks.sidr_ablations`"),
    PaperElement("sidr", "negatives of another corpus; varied lengths", "not built", "there is no second corpus here"),
    PaperElement("sidr", "document-side forms; trained without expansion of items", "built, not measured",
                 "`with_forms(items=...)` and `SidrSettings(expand_items=False)`"),
    PaperElement("sidr", "80 epochs of batches of 128", "cannot be run here",
                 "`paper=True` has these numbers; measured are 100 to 200 steps of 32, upper layers only"),
    PaperElement("sidr", "NQ, TriviaQA, WebQuestions, MS MARCO, BEIR", "cannot be run here",
                 "`answer_accuracy` has the measure; the collections are not here"),
)  # fmt: skip
