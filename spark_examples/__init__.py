"""Data pipelines on PySpark, through Spark's own Kafka connector."""
