"""The part of the sandboxes that runs beside or inside a job: standard library only.

It is started by path with a bare interpreter, never imported through `wmrl_gym`, so that a
job's process holds nothing of the caller's: no labels, no keys, no environment.

The back ends differ in how the walls are built; who watches over a job is the same for all:

    zygote      forks a warm interpreter and gives each fork its own namespaces
    supervisor  is exec'd for one job (as pid 1 under bubblewrap, as a subreaper elsewhere)
    container   is pid 1 of a container that is made for one job
    watch       starts the job, watches its limits, kills its tree, collects its outputs
    child       what happens in the job's own process before its code gets control
"""
