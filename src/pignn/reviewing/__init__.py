"""The live review: a person and the model clean the labels together."""
