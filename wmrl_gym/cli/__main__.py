"""`python -m wmrl_gym.cli` is the command `wmrl-gym`."""

from wmrl_gym.cli import main

main()
