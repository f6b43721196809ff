modelsdir = $(pkgdatadir)/models
dist_models_DATA = \
  %D%/llama-2-13b.json \
  %D%/llama-2-70b.json \
  %D%/llama-2-7b.json \
  %D%/llama-3-70b.json \
  %D%/llama-3-8b.json \
  %D%/llama-3.1-70b.json \
  %D%/llama-3.1-8b.json \
  %D%/llama-3.2-1b.json \
  %D%/llama-3.2-3b.json \
  %D%/llama-3.3-70b.json \
  %D%/mistral-7b.json \
  %D%/smollm2-1.7b.json \
  %D%/smollm2-135m.json \
  %D%/smollm2-360m.json \
  %D%/stories110m.json \
  %D%/stories15m.json \
  %D%/stories42m.json \
  %D%/tinyllama-1.1b.json
