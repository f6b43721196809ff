-- x
INSERT INTO t (model_type, n_prompt, n_gen, avg_ts) VALUES /* a */ ('a', 0, 8, 1), ('b', 1, 0, 2);