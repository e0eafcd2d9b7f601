"""What methods are made of: bases, the learner, labels, and small helpers."""
