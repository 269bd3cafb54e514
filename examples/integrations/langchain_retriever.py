"""LangChain: an engine as a vector store, and its answers in a chain. Needs `pip install 'vizsla[langchain]'`."""

from tempfile import TemporaryDirectory

from langchain_core.documents import Document
from langchain_core.prompts import ChatPromptTemplate

from vizsla.integrations.langchain import VizslaRetriever, VizslaVectorStore

with TemporaryDirectory() as folder:
    store = VizslaVectorStore.from_texts(
        ["Figs ripen in late summer.", "Pears keep for weeks."], path=f"{folder}/fruit"
    )
    store.add_documents([Document("Plums are dried to prunes.", metadata={"page": 3}, id="plum")])
    search = VizslaRetriever(target=store.engine, k=1)
    prompt = ChatPromptTemplate.from_template("Answer from this: {context}")
    chain = {"context": search | (lambda found: found[0].page_content)} | prompt
    print(chain.invoke("When do figs ripen?").to_string())
    store.delete(["plum"])
    print("after deletion:", store.similarity_search("prunes"))
    store.engine.close()
