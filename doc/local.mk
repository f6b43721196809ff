EXTRA_DIST += %D%/HACKING.md %D%/guide.md %D%/methods.md %D%/formats.md %D%/accuracy.md
EXTRA_DIST += %D%/notes/attention.md %D%/notes/charts.md %D%/notes/cpus.md %D%/notes/datasets.md %D%/notes/fits.md \
  %D%/notes/gpu-kernels.md %D%/notes/kernels.md %D%/notes/memory.md %D%/notes/models.md %D%/notes/quantization.md \
  %D%/notes/servers.md %D%/notes/stacks.md %D%/notes/tensor-types.md %D%/notes/tokenizers.md
dist_man_MANS += %D%/roofcast.1
