CREATE TABLE IF NOT EXISTS llama_bench (
  build_commit TEXT,
  build_number TEXT,
  cpu_info TEXT,
  gpu_info TEXT,
  backends TEXT,
  model_filename TEXT,
  model_type TEXT,
  model_size TEXT,
  model_n_params TEXT,
  n_batch TEXT,
  n_ubatch TEXT,
  n_threads TEXT,
  type_k TEXT,
  type_v TEXT,
  n_gpu_layers TEXT,
  flash_attn TEXT,
  n_prompt TEXT,
  n_gen TEXT,
  n_depth TEXT,
  test_time TEXT,
  avg_ns TEXT,
  avg_ts TEXT
);

INSERT INTO llama_bench (build_commit, build_number, cpu_info, gpu_info, backends, model_filename, model_type, model_size, model_n_params, n_batch, n_ubatch, n_threads, type_k, type_v, n_gpu_layers, flash_attn, n_prompt, n_gen, n_depth, test_time, avg_ns, avg_ts) VALUES ('abc1234', '5000', 'Example CPU', 'NVIDIA GeForce RTX 4090', 'CUDA', 'models/Meta-Llama-3-8B-Instruct-Q4_K_M.gguf', 'llama 8B Q4_K - Medium', '4912898304', '8030261312', '2048', '512', '8', 'f16', 'f16', '99', '1', '512', '0', '0', '2026-01-02T03:04:05Z', '51200000', '10000.0');
INSERT INTO llama_bench (build_commit, build_number, cpu_info, gpu_info, backends, model_filename, model_type, model_size, model_n_params, n_batch, n_ubatch, n_threads, type_k, type_v, n_gpu_layers, flash_attn, n_prompt, n_gen, n_depth, test_time, avg_ns, avg_ts) VALUES ('abc1234', '5000', 'Example CPU', 'NVIDIA GeForce RTX 4090', 'CUDA', 'models/Meta-Llama-3-8B-Instruct-Q4_K_M.gguf', 'llama 8B Q4_K - Medium', '4912898304', '8030261312', '2048', '512', '8', 'f16', 'f16', '99', '1', '0', '128', '4096', '2026-01-02T03:04:06Z', '1024000000', '125.0');
