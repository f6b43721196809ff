# One archive per ISA so that each gets exactly its own -m flags. Libraries of a program, in
# order: the ladder, then the rungs (libdtype.a and libbase.a follow).
noinst_LIBRARIES += libkernels.a
libkernels_a_SOURCES = \
  %D%/kernels.h \
  %D%/internal.h \
  %D%/q8.h \
  %D%/pack.h \
  %D%/pack.c \
  %D%/inline.h \
  %D%/share.h \
  %D%/share.c \
  %D%/kernels.c \
  %D%/ref/ref.h \
  %D%/ref/init.c \
  %D%/ref/matmul.c \
  %D%/ref/acts.c \
  %D%/ref/vector.c \
  %D%/ref/attention.c
KERNEL_LIBS = libkernels.a
# Templates over vectors of any width, for the rungs to instantiate.
EXTRA_DIST += \
  %D%/simd/vector.h \
  %D%/simd/attention.h \
  %D%/simd/dense_packed.h \
  %D%/simd/attention_few.h \
  %D%/simd/attention_state.h \
  %D%/simd/attention_tile.h \
  %D%/simd/kv_tile.h \
  %D%/simd/dense.h \
  %D%/simd/dense_floats.h \
  %D%/simd/blocks.h \
  %D%/simd/format.h \
  %D%/simd/panel_q8.h \
  %D%/simd/gemm_q8.h

if ISA_AVX2
noinst_LIBRARIES += libkernels_avx2.a
libkernels_avx2_a_SOURCES = \
  %D%/avx2/simd256.h \
  %D%/avx2/avx2.h \
  %D%/avx2/gemv.h \
  %D%/avx2/init.c \
  %D%/avx2/vector.c \
  %D%/avx2/attention.c \
  %D%/avx2/dense.c \
  %D%/avx2/formats.c \
  %D%/avx2/gemm.c \
  %D%/avx2/packed.h \
  %D%/avx2/packed_tile.h \
  %D%/avx2/packed.c \
  %D%/avx2/packed_32.c \
  %D%/avx2/packed_k.c
libkernels_avx2_a_CFLAGS = $(AM_CFLAGS) $(KERNEL_CFLAGS) $(ISA_AVX2_CFLAGS)
KERNEL_LIBS += libkernels_avx2.a
endif

if ISA_AVX512
noinst_LIBRARIES += libkernels_avx512.a
libkernels_avx512_a_SOURCES = \
  %D%/avx512/simd512.h \
  %D%/avx512/avx512.h \
  %D%/avx512/init.c \
  %D%/avx512/vector.c \
  %D%/avx512/attention.c \
  %D%/avx512/dense.c
libkernels_avx512_a_CFLAGS = $(AM_CFLAGS) $(KERNEL_CFLAGS) $(ISA_AVX512_CFLAGS)
KERNEL_LIBS += libkernels_avx512.a
endif

if ISA_AVX512VNNI
noinst_LIBRARIES += libkernels_avx512vnni.a
libkernels_avx512vnni_a_SOURCES = \
  %D%/avx512vnni/vnni.h \
  %D%/avx512vnni/gemv32.h \
  %D%/avx512vnni/q45k.h \
  %D%/avx512vnni/k16.h \
  %D%/avx512vnni/init.c \
  %D%/avx512vnni/gemm.c \
  %D%/avx512vnni/file_32.c \
  %D%/avx512vnni/file_k.c \
  %D%/avx512vnni/packed.h \
  %D%/avx512vnni/packed_acts.h \
  %D%/avx512vnni/packed_place.h \
  %D%/avx512vnni/packed_unpack.h \
  %D%/avx512vnni/packed_gemm.c \
  %D%/avx512vnni/packed_gemv_rows.h \
  %D%/avx512vnni/packed_gemv_tokens.h \
  %D%/avx512vnni/packed_gemv32.h \
  %D%/avx512vnni/packed_gemv_k.h \
  %D%/avx512vnni/packed_32.c \
  %D%/avx512vnni/packed_k.c
libkernels_avx512vnni_a_CFLAGS = $(AM_CFLAGS) $(KERNEL_CFLAGS) $(ISA_AVX512VNNI_CFLAGS)
KERNEL_LIBS += libkernels_avx512vnni.a
endif

if ISA_AVX512BF16
noinst_LIBRARIES += libkernels_avx512bf16.a
libkernels_avx512bf16_a_SOURCES = \
  %D%/avx512bf16/bf16.h \
  %D%/avx512bf16/rounded.h \
  %D%/avx512bf16/init.c \
  %D%/avx512bf16/attention.c \
  %D%/avx512bf16/dense.c
libkernels_avx512bf16_a_CFLAGS = $(AM_CFLAGS) $(KERNEL_CFLAGS) $(ISA_AVX512BF16_CFLAGS)
KERNEL_LIBS += libkernels_avx512bf16.a
endif

if ISA_AMX
noinst_LIBRARIES += libkernels_amx.a
libkernels_amx_a_SOURCES = \
  %D%/amx/amx.h \
  %D%/amx/init.c \
  %D%/amx/attention.c \
  %D%/amx/convert.c \
  %D%/amx/gemm.c
libkernels_amx_a_CFLAGS = $(AM_CFLAGS) $(KERNEL_CFLAGS) $(ISA_AMX_CFLAGS)
KERNEL_LIBS += libkernels_amx.a
endif

# 64-bit Arm. The rungs use pack_panel() of the first archive, which therefore comes once more.
if ISA_NEON
noinst_LIBRARIES += libkernels_neon.a
libkernels_neon_a_SOURCES = \
  %D%/neon/simd128.h \
  %D%/neon/neon.h \
  %D%/neon/init.c \
  %D%/neon/vector.c \
  %D%/neon/attention.c \
  %D%/neon/dense.c \
  %D%/neon/packed_dense.c \
  %D%/neon/unpack.c \
  %D%/neon/product.c \
  %D%/neon/slots.h \
  %D%/neon/tile.h \
  %D%/neon/tile_kinds.h \
  %D%/neon/tile.c
libkernels_neon_a_CFLAGS = $(AM_CFLAGS) $(KERNEL_CFLAGS) $(ISA_NEON_CFLAGS)
KERNEL_LIBS += libkernels_neon.a
endif

if ISA_DOTPROD
noinst_LIBRARIES += libkernels_dotprod.a
libkernels_dotprod_a_SOURCES = \
  %D%/dotprod/dotprod.h \
  %D%/dotprod/init.c \
  %D%/dotprod/tile.c
libkernels_dotprod_a_CFLAGS = $(AM_CFLAGS) $(KERNEL_CFLAGS) $(ISA_DOTPROD_CFLAGS)
KERNEL_LIBS += libkernels_dotprod.a
endif

if ISA_I8MM
noinst_LIBRARIES += libkernels_i8mm.a
libkernels_i8mm_a_SOURCES = \
  %D%/i8mm/i8mm.h \
  %D%/i8mm/init.c \
  %D%/i8mm/tile.c
libkernels_i8mm_a_CFLAGS = $(AM_CFLAGS) $(KERNEL_CFLAGS) $(ISA_I8MM_CFLAGS)
KERNEL_LIBS += libkernels_i8mm.a
endif
if ISA_NEON
if ISA_DOTPROD
KERNEL_LIBS += libkernels_dotprod.a
endif
KERNEL_LIBS += libkernels_neon.a libkernels.a
endif
