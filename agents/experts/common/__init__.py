"""What experts share: prediction over batches, states from observations, curves, motion."""
