"""Language-model agents that verl trains on one machine or many, with groups that weigh.

verl imports `wmrl_gym.agents.verl.plugin` by itself, in every process, through its plugin
entry point: nothing has to be imported by hand. A training asks for it in its configuration::

    python -m verl.trainer.main_ppo algorithm.adv_estimator=grpo \
        data.train_files=train.parquet data.val_files=train.parquet \
        actor_rollout_ref.rollout.agent.default_agent_loop=wmrl \
        trainer.val_before_train=False trainer.test_freq=-1 \
        +wmrl.anchor_fraction=0.1 +wmrl.world_model=openai:http://host:8000/v1 ...

where `write_rows` of `wmrl_gym.agents.verl.rows` has made `train.parquet`, and `+wmrl...` are
the fields of `wmrl_gym.agents.verl.options.Options`. Without that section verl is as ever.

How it works:

- Each training has one scorer, a Ray actor: it alone holds the environments, the world model
  and the correction, so that all ranks agree. Which groups are anchors is still a pure function
  of seed and group id. Real executions are tasks of Ray, wherever there is room.
- Prompts get their group ids, counted over the whole training, when the trainer sends them out.
- The agent loop `wmrl` plays the turns of an episode: what the model said is masked 1, what it
  was told 0. An episode that we failed to score leaves no trajectory, and is no zero.
- The trainers of verl are registered again, under their names, as subclasses that multiply the
  advantages by the weights of the groups after `_compute_advantage`, feed the anchors back, and
  save the correction with their checkpoints.

Tested with verl 0.9.1 on a CPU: the plugin as verl finds it, agent-loop workers in several
processes with the tokenizer and the weights of a small model, advantages and policy losses of
verl itself, TransferQueue, checkpoints of the correction. Not run, for want of GPUs: a whole
training with its FSDP or Megatron workers, rollouts by vLLM or SGLang, several nodes, the
asynchronous trainers. The legacy trainer (`trainer.use_v1=False`) is not supported.
"""
