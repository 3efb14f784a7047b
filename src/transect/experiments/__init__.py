"""The paper's figures as experiments: which runs they need, doing them, what comes out.

figures: what each one shows · task: one run · runner: doing many · store, pack: results on
disk · table: results in memory · pictures, claims (with claims_text and statistics),
summaries: what they say · command: all of it on the command line.
"""
