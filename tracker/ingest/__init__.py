"""Everything after the answer: from the journal into MongoDB."""
