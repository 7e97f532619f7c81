"""The names that services, frameworks and databases usually give to results and to their fields."""

LISTS = (  # fields that have the results
    *("documents", "docs", "source_documents", "source_nodes", "nodes", "results", "hits", "matches", "points"),
    *("passages", "chunks", "contexts", "context", "retrieved_contexts", "items", "data", "value", "ids"),
    "objects",  # of Weaviate
    *("result", "records", "retrieval_nodes", "retrievalResults", "output", "sources", "citations"),
    *("search_results", "scored_chunks", "top_documents", "rows"),  # of Vectara, Ragie, Onyx, Turbopuffer
    *("chunk_search_results", "snippets", "ResultItems"),  # of R2R, Pinecone's assistant, Kendra
)
WITHIN = (
    *("", "node", "metadata", "meta", "node.metadata", "payload", "_source", "properties", "entity", "fields"),
    *("cmetadata", "langchain_metadata", "metadata_"),  # columns of tables that LangChain and LlamaIndex make
    *("document", "kwargs", "node.extra_info"),  # of Typesense, LangServe, LlamaCloud
    *(f"{outer}.metadata" for outer in ("payload", "_source", "properties", "fields", "document", "kwargs")),
    "payload.meta",  # of Haystack in Qdrant
    *("segment", "document.doc_metadata", "document_metadata"),  # of Dify, PrivateGPT, Vectara
    *("derivedStructData", "document.derivedStructData"),  # of Vertex AI Search
)
NAMES = {
    "id": (
        *("id", "_id", "docno", "doc_id", "docid", "document_id", "chunk_id", "passage_id", "id_", "node_id", "pk"),
        "objectID",  # of Algolia
        *("ref_doc_id", "relationships.1.node_id"),  # of the document of a node, in LlamaIndex
    ),
    "source": (
        *("source", "file_path", "file_name", "filename", "filepath", "file", "path", "document", "doc", "url"),
        *("doc_uri", "fileName"),  # of MLflow's documents, and of programs in JavaScript
        *("document_name", "document_keyword"),  # of Ragie, RAGFlow
    ),
    "page": (
        *("page", "page_number", "page_label", "page_no", "page_num"),
        *("pageNumber", "loc.pageNumber"),  # of LangChain in JavaScript
    ),
    "text": (
        *("page_content", "content", "text", "chunk", "passage", "body", "document", "text_resource.text"),
        *("pageContent", "chunk_text", "Content", "blurb", "title"),
    ),
    "score": ("score", "_score", "similarity", "relevance_score", "@search.score"),
}
LESS_LIKELY_NAMES = {  # addresses, also of a page that shows the document: where a result has no other name
    "source": ("sourceUri", "link", "location.s3Location.uri", "DocumentURI"),  # of Google's and of Amazon's services
}
