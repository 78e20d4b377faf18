"""Tables with columns: Arrow, Parquet and data frames."""
