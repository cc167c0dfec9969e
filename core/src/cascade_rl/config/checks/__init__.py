"""The checks of ``cascade plan``, one file a subject; ``cascade_rl.config.check`` runs them all."""
