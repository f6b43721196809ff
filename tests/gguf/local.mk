# tests of gguf
