"""What is looked at now and then: lag, the loop, the last hour, certificates."""
