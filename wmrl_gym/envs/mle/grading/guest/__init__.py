"""The code that grades, run in a sandbox of its own beside the answers.

It may import the standard library, numpy, pandas and scikit-learn, and nothing else of
`wmrl_gym`: only these modules are sent into the sandbox, under their own names.

A grader is a function from its rules and the path of the submission to the values of the
metric; it raises `InvalidSubmissionError` for what the agent did wrong. Anything else that
it raises is a fault of the grader.
"""
