"""The back end "docker": one container for each job, through the SDK of a local engine."""
