"""What everything else rests on: errors, checks of settings, texts, names that are imported on first use."""
