# tests of model
if CMOCKA
MODEL_TEST_LIBS = libmodel.a libgguf.a libdtype.a $(TEST_LIBS) $(PCRE2_LIBS)
check_PROGRAMS += %D%/test_model %D%/test_model_gguf %D%/test_gguf_priced %D%/test_model_mixture %D%/test_model_synth
%C%_test_model_SOURCES = %D%/test_model.c tests/test.h
%C%_test_model_LDADD   = $(MODEL_TEST_LIBS)
%C%_test_gguf_priced_SOURCES = %D%/test_gguf_priced.c tests/test.h
%C%_test_gguf_priced_LDADD   = $(MODEL_TEST_LIBS)
%C%_test_model_gguf_SOURCES = %D%/test_model_gguf.c tests/test.h
%C%_test_model_gguf_LDADD   = $(MODEL_TEST_LIBS)
%C%_test_model_mixture_SOURCES = %D%/test_model_mixture.c tests/test.h
%C%_test_model_mixture_LDADD   = $(MODEL_TEST_LIBS)
%C%_test_model_synth_SOURCES = %D%/test_model_synth.c tests/test.h
%C%_test_model_synth_LDADD   = $(MODEL_TEST_LIBS)
TESTS += %D%/test_model %D%/test_model_gguf %D%/test_gguf_priced %D%/test_model_mixture %D%/test_model_synth
endif
if CMOCKA
check_PROGRAMS += %D%/test_tokenizer %D%/test_tokenizer_files
%C%_test_tokenizer_SOURCES = %D%/test_tokenizer.c %D%/tiny_vocab.h tests/test.h
%C%_test_tokenizer_LDADD   = libmodel.a libgguf.a libdtype.a $(TEST_LIBS) $(PCRE2_LIBS)
%C%_test_tokenizer_files_SOURCES = %D%/test_tokenizer_files.c tests/test.h
%C%_test_tokenizer_files_LDADD   = libmodel.a libgguf.a libdtype.a $(TEST_LIBS) $(PCRE2_LIBS)
TESTS += %D%/test_tokenizer %D%/test_tokenizer_files
endif
if CMOCKA
check_PROGRAMS += %D%/test_chat
%C%_test_chat_SOURCES = %D%/test_chat.c %D%/tiny_vocab.h tests/test.h
%C%_test_chat_LDADD   = $(MODEL_TEST_LIBS)
TESTS += %D%/test_chat
check_PROGRAMS += %D%/test_text_stream
%C%_test_text_stream_SOURCES = %D%/test_text_stream.c tests/test.h
%C%_test_text_stream_LDADD   = $(MODEL_TEST_LIBS)
TESTS += %D%/test_text_stream
endif
if CMOCKA
check_PROGRAMS += %D%/test_model_quantize
%C%_test_model_quantize_SOURCES = %D%/test_model_quantize.c tests/gguf/build.h tests/test.h
%C%_test_model_quantize_LDADD   = $(MODEL_TEST_LIBS)
TESTS += %D%/test_model_quantize
endif
if CMOCKA
check_PROGRAMS += %D%/test_archs_hybrid
%C%_test_archs_hybrid_SOURCES = %D%/test_archs_hybrid.c tests/test.h tests/near.h
%C%_test_archs_hybrid_LDADD   = $(PREDICT_TEST_LIBS)
TESTS += %D%/test_archs_hybrid
endif
if CMOCKA
check_PROGRAMS += %D%/test_config %D%/test_presets %D%/test_params
%C%_test_config_SOURCES = %D%/test_config.c tests/test.h
%C%_test_config_LDADD   = $(MODEL_TEST_LIBS)
%C%_test_presets_SOURCES = %D%/test_presets.c tests/test.h
%C%_test_presets_LDADD   = $(MODEL_TEST_LIBS)
%C%_test_params_SOURCES = %D%/test_params.c tests/test.h
%C%_test_params_LDADD   = $(MODEL_TEST_LIBS)
TESTS += %D%/test_config %D%/test_presets %D%/test_params
EXTRA_DIST += %D%/params.tsv
endif
if CMOCKA
check_PROGRAMS += %D%/test_checkpoint
%C%_test_checkpoint_SOURCES = %D%/test_checkpoint.c tests/test.h
%C%_test_checkpoint_LDADD   = $(MODEL_TEST_LIBS)
TESTS += %D%/test_checkpoint
check_PROGRAMS += %D%/test_alias %D%/test_archs_llama_like
%C%_test_alias_SOURCES = %D%/test_alias.c tests/test.h
%C%_test_alias_LDADD   = $(MODEL_TEST_LIBS)
%C%_test_archs_llama_like_SOURCES = %D%/test_archs_llama_like.c tests/test.h
%C%_test_archs_llama_like_LDADD   = $(MODEL_TEST_LIBS)
TESTS += %D%/test_alias %D%/test_archs_llama_like
endif
if CMOCKA
check_PROGRAMS += %D%/test_archs_classic
%C%_test_archs_classic_SOURCES = %D%/test_archs_classic.c tests/gguf/build.h tests/test.h
%C%_test_archs_classic_LDADD   = $(MODEL_TEST_LIBS)
TESTS += %D%/test_archs_classic
endif
