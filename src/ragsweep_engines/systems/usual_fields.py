"""The names that frameworks and databases usually give to results and to their fields."""

LISTS = (  # fields that have the results
    *("documents", "docs", "source_documents", "source_nodes", "nodes", "results", "hits", "matches", "points"),
    *("passages", "chunks", "contexts", "context", "retrieved_contexts", "items", "data", "ids"),
    "objects",  # of Weaviate
    *("result", "output", "sources", "citations"),
)
WITHIN = (
    *("", "node", "metadata", "meta", "node.metadata", "payload", "_source", "properties", "entity", "fields"),
    *("cmetadata", "langchain_metadata", "metadata_"),  # columns of tables that LangChain and LlamaIndex make
    *("document", "kwargs"),  # of LangServe
    *(f"{outer}.metadata" for outer in ("payload", "_source", "properties", "fields", "document", "kwargs")),
    "payload.meta",  # of Haystack in Qdrant
)
NAMES = {
    "id": (
        *("id", "_id", "docno", "doc_id", "docid", "document_id", "chunk_id", "passage_id", "id_", "node_id", "pk"),
        *("ref_doc_id", "relationships.1.node_id"),  # of the document of a node, in LlamaIndex
    ),
    "source": (
        *("source", "file_path", "file_name", "filename", "filepath", "file", "path", "document", "doc", "url"),
        *("doc_uri", "fileName"),  # of MLflow's documents, and of programs in JavaScript
    ),
    "page": (
        *("page", "page_number", "page_label", "page_no", "page_num"),
        *("pageNumber", "loc.pageNumber"),  # of LangChain in JavaScript
    ),
    "text": (
        *("page_content", "content", "text", "chunk", "passage", "body", "document", "text_resource.text"),
        *("pageContent", "chunk_text", "title"),
    ),
    "score": ("score", "_score", "similarity", "relevance_score"),
}
