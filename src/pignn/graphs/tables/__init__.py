"""Tables: CSV, TSV, JSON lines and Parquet."""
