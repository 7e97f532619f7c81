"""Documents in the formats that people have. One module per format; PDF files are read by `pdf_documents`."""
