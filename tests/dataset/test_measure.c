/* Readers of measurements: RFC 4180 with places, every kind of file, one table of names. */
#include "../test.h"
#include "dataset/internal.h"
#include "dataset/measure.h"
#include <math.h>

static int parse(struct csv *c, const char *text, struct error *err)
{
    return csv_parse(c, "f.csv", text, strlen(text), err);
}

static void test_csv(void **state)
{
    (void)state;
    struct csv c;
    struct error err = { 0 };
    assert_ok(parse(&c, "\xef\xbb\xbf" "a,b,c\r\n1,\"two, \"\"2\"\"\r\nlines\",\r\n,x,3\r\n\r\n", &err), err);
    assert_int_equal(c.n_row, 2);
    assert_int_equal(csv_find(&c, "b"), 1);
    assert_int_equal(csv_find(&c, "d"), -1);
    assert_string_equal(csv_at(&c, 0, 1)->s, "two, \"2\"\r\nlines");
    assert_string_equal(csv_at(&c, 0, 2)->s, "");
    assert_string_equal(csv_at(&c, 1, 1)->s, "x");
    assert_int_equal(csv_at(&c, 1, 2)->line, 4); /* behind a field of two lines */
    assert_int_equal(csv_at(&c, 1, 2)->column, 4);
    assert_string_equal(csv_at(&c, 1, -1)->s, "");
    csv_free(&c);
    assert_ok(parse(&c, "a,b", &err), err);
    assert_int_equal(c.n_row, 0);
    csv_free(&c);
}

static void test_csv_refuses(void **state)
{
    (void)state;
    struct csv c;
    struct error err = { 0 };
    assert_fails(parse(&c, "", &err), err, "line 1, column 1: expected a header");
    assert_fails(parse(&c, "a,b\n1\n", &err), err, "line 2, column 1: expected 2 fields as in the header, found 1");
    assert_fails(parse(&c, "a,b\n1,2,3\n", &err), err, "line 2, column 5: expected 2 fields");
    assert_fails(parse(&c, "a,b\n1,x\"y\n", &err), err, "line 2, column 4: a quote inside");
    assert_fails(parse(&c, "a,b\n1,\"y\"z\n", &err), err, "line 2, column 6: text after");
    assert_fails(parse(&c, "a,b\n1,\"y\n", &err), err, "line 2, column 3: an unterminated quoted field");
    assert_fails(parse(&c, "a,a\n", &err), err, "line 1, column 3: a second column \"a\"");
    assert_fails(csv_parse(&c, "f.csv", "a\nx\0y\n", 6, &err), err, "line 2, column 2: a byte of zero");
}

static void test_numbers(void **state)
{
    (void)state;
    assert_true(csv_to_number("1.5e3") == 1500);
    assert_true(csv_to_number("-.5") == -0.5);
    assert_true(csv_to_number("+2.") == 2);
    static const char *const bad[] = { "", " 1", "1 ", "0x10", "inf", "nan", "1e", "1e999", ".", "1,5", "--1", "1.2.3" };
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        if (!isnan(csv_to_number(bad[i])))
            fail_msg("\"%s\" is a number", bad[i]);
}

static const char *fixture(const char *name)
{
    static char path[4200];
    snprintf(path, sizeof path, "%s/tests/fixtures/measure/%s", data_dirs()[0], name);
    return path;
}

static void load(struct measurements *l, const char *name)
{
    struct error err = { 0 };
    const struct measure_context x = { .hardware = "", .model = "" };
    assert_ok(measure_load(l, fixture(name), &x, &err), err);
}

static void test_throughput(void **state)
{
    (void)state;
    struct measurements l;
    load(&l, "throughput.csv");
    assert_int_equal(l.file, FILE_THROUGHPUT);
    assert_int_equal(l.n, 7);
    assert_int_equal(l.row[0].phase, MEASURE_DECODE);
    assert_int_equal(l.row[0].line, 2);
    assert_string_equal(l.row[1].notes, "tags=; made up, \"quoted\"");
    assert_int_equal(l.row[2].tags, TAG_E2E);
    assert_true(l.row[2].out == 2048);
    assert_true(l.row[3].tags & TAG_TENSOR_PARALLEL && l.row[3].n_devices == 4);
    assert_true(isnan(l.row[6].weight_gib));
    measure_free(&l);
}

static void refuse_throughput(const char *row, const char *text)
{
    static const char header[] = "hardware,model,phase,n_devices,batch,tokens_per_s,notes\n";
    char file[512];
    struct measurements l;
    struct error err = { 0 };
    snprintf(file, sizeof file, "%s%s\n", header, row);
    assert_fails(measure_parse(&l, "t.csv", file, strlen(file), NULL, &err), err, text);
}

static void test_throughput_refuses(void **state)
{
    (void)state;
    refuse_throughput("h,m,decode,1,1,fast,", "t.csv: line 2, column 16 (tokens_per_s): expected a number");
    refuse_throughput("h,m,decode,1,1,,", "line 2, column 16 (tokens_per_s)");
    refuse_throughput("h,m,decode,1,1,-3,", "line 2, column 16 (tokens_per_s)");
    refuse_throughput("h,m,dekode,1,1,3,", "line 2, column 5 (phase): expected prefill, decode or serving, found \"dekode\"");
    refuse_throughput("h,m,\"de\n\x1b[x\",1,1,3,", "line 2, column 5 (phase): expected prefill, decode or serving, found \"de??[x\"");
    refuse_throughput("h,m,decode,1.5,1,3,", "line 2, column 12 (n_devices): expected a whole number");
    refuse_throughput(",m,decode,1,1,3,", "line 2, column 1 (hardware)");
    struct measurements l;
    struct error err = { 0 };
    assert_fails(measure_parse(&l, "t.csv", "a,b\n1,2\n", 8, NULL, &err), err, "line 1, column 1: not a file of measurements");
}

/* What says when is a date, a build, a commit or a version; a date that is none is not of today. */
static void test_dates(void **state)
{
    (void)state;
    static const char *const dates[] = { "", "2025", "2025-01", "2025-1-5", "2024-02-29", "2026-01-02T03:04:05Z", "Jan 2025", "jan 2025", "JAN 2025",
                                         "January 2025", "2025-08 (PR value)", "May 2024; build 4426e298 (2824)", "Neuron 2.18.0", "commit cff6f4d",
                                         "commit deadbee", "repo snapshot da07fac", "v0.62.0-dev20251015 (README 2025-11-03)", "SGLang 0.4.6.post1",
                                         "b9174-g0253fb21f", "vLLM 0.6.3", "1.1.3", "winter 2024-25", "2025-13", "2025-00",
                                         "10.05.2024", "2024.05", "2024.05.10", "05/2024", "5/20/2024", "20240510", "20249999", "30 June 2025", "June 30, 2025",
                                         "1st May 2024", "ollama 0.1.38 May 2024", "driver 566.36 Dec 2024", "10:45 May 2024", "May 64GB 2024",
                                         "OpenVINO 2024.13.45", "1.31.2024", "commit 31f9999 (June 2025)" };
    static const char *const none[] = { "2025-13-45", "2025-02-30", "2023-02-29", "2025-01-00", "2025-01-150", "2025/13/01", "0001-01-01T00:00:00Z",
                                        "9999-01-01", "vLLM 0.6.3 of 2025-13-45", "31 June 2025", "June 31, 2025", "31st of 31 june 2025",
                                        "30/02/2024", "13/13/2024" };
    static const char *const early[] = { "1999", "1970-01-01T00:00:00Z", "10.05.1999" };
    static const char *const unsaid[] = { "yesterday", "n/a", "N/A", "-", "today", "unknown", "main" };
    char text[256], says[256];
    struct measurements l;
    struct error err = { 0 };
    for (size_t i = 0; i < ARRAY_LEN(dates); i++) {
        snprintf(text, sizeof text, "hardware,model,phase,tokens_per_s,date_or_build\nh,m,decode,1,\"%s\"\n", dates[i]);
        assert_ok(measure_parse(&l, "t.csv", text, strlen(text), NULL, &err), err);
        assert_string_equal(l.row[0].remark, "");
        measure_free(&l);
    }
    for (size_t i = 0; i < ARRAY_LEN(unsaid); i++) {
        snprintf(text, sizeof text, "hardware,model,phase,tokens_per_s,date_or_build\nh,m,decode,1,%s\n", unsaid[i]);
        assert_ok(measure_parse(&l, "t.csv", text, strlen(text), NULL, &err), err);
        assert_string_equal(l.row[0].remark, "date_or_build has no date, build or version: assumed current");
        measure_free(&l);
    }
    for (size_t i = 0; i < ARRAY_LEN(early); i++) {
        snprintf(text, sizeof text, "hardware,model,phase,tokens_per_s,date_or_build\nh,m,decode,1,%s\n", early[i]);
        assert_ok(measure_parse(&l, "t.csv", text, strlen(text), NULL, &err), err);
        assert_string_equal(l.row[0].remark, "date_or_build is before the first measurements: assumed current");
        measure_free(&l);
    }
    for (size_t i = 0; i < ARRAY_LEN(none); i++) {
        snprintf(text, sizeof text, "hardware,model,phase,tokens_per_s,date_or_build\nh,m,decode,1,\"%s\"\n", none[i]);
        snprintf(says, sizeof says, "t.csv: line 2, column 14 (date_or_build): expected a date (2025-01-15, Jan 2025, 2025), a build, a commit or a "
                 "version, found \"%s\"", none[i]);
        assert_fails(measure_parse(&l, "t.csv", text, strlen(text), NULL, &err), err, says);
    }
}

/* Years first, last, or with the rest in one number; what is of two months is of none. */
static void test_months(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int year, month;
    } says[] = { { "2024-05-10", 2024, 5 }, { "2024/5", 2024, 5 },        { "2024.05", 2024, 5 },    { "2024.05.10", 2024, 5 }, { "2024.4.1", 2024, 0 },
                 { "20240510", 2024, 5 },   { "10.05.2024", 2024, 5 },    { "7.12.2024", 2024, 12 }, { "05/2024", 2024, 5 },    { "5.2024", 2024, 0 },
                 { "5/20/2024", 2024, 5 },  { "20/5/2024", 2024, 5 },     { "5/5/2024", 2024, 5 },   { "5/6/2024", 2024, 0 },   { "05-2024", 2024, 5 },
                 { "10 may 2024", 2024, 5 }, { "1st May, 2024", 2024, 5 }, { "of 10.05.2024 (b9)", 2024, 5 } };
    int year, month;
    for (size_t i = 0; i < ARRAY_LEN(says); i++) {
        const bool is = says[i].month > 0 || strcmp(says[i].text, "5.2024") != 0;
        assert_int_equal(measure_date(says[i].text, &year, &month), is ? MEASURE_DATE : MEASURE_NO_DATE);
        assert_int_equal(year, is ? says[i].year : 0);
        assert_int_equal(month, says[i].month);
    }
}

/* --type is the type of rows that do not say theirs, and they say so. */
static void test_type_given(void **state)
{
    (void)state;
    static const char text[] = "hardware,model,phase,tokens_per_s,quant\nh,m,decode,1,\nh,m,decode,1,Q8_0\n";
    static const struct measure_context x = { .type = "Q4_0" };
    struct measurements l;
    struct error err = { 0 };
    assert_ok(measure_parse(&l, "t.csv", text, strlen(text), &x, &err), err);
    assert_string_equal(l.row[0].quant, "Q4_0");
    assert_string_equal(l.row[0].remark, "no type in its row: Q4_0, from --type");
    assert_string_equal(l.row[1].quant, "Q8_0");
    assert_string_equal(l.row[1].remark, "");
    measure_free(&l);
}

/* Phases in any case of letters; batches of as many as sources of simulators have. */
static void test_throughput_takes(void **state)
{
    (void)state;
    static const char text[] = "hardware,model,phase,n_devices,batch,tokens_per_s,notes\n"
                               "h,m,Decode,1,1000000,3,\nh,m,PREFILL,1,65537,3,\nh,m,Serving,1,1,3,\n";
    struct measurements l;
    struct error err = { 0 };
    assert_ok(measure_parse(&l, "t.csv", text, strlen(text), NULL, &err), err);
    assert_true(l.row[0].phase == MEASURE_DECODE && l.row[0].batch == 1e6);
    assert_true(l.row[1].phase == MEASURE_PREFILL && l.row[2].phase == MEASURE_REQUEST);
    measure_free(&l);
    refuse_throughput("h,m,decode,1,1000001,3,", "line 2, column 14 (batch): expected a number from 1 to 1e+06, found \"1000001\"");
}

/* Reads the file of that header and row with a text in place of the field in column k, and expects a refusal of it there. */
static void refuse_figure(const struct csv *good, const char *kind, size_t k, const char *bad)
{
    char text[2048] = "", says[256], found[32];
    struct measurements l = { 0 };
    struct measure_hws hws = { 0 };
    struct error err = { 0 };
    size_t len = 0, begins = 0, column = 0;
    for (size_t j = 0; j < 2 * good->n_col; j++) {
        const size_t c = j % good->n_col;
        begins = j == good->n_col ? len : begins;
        column = j == good->n_col + k ? len - begins + 1 : column;
        len += (size_t)snprintf(text + len, sizeof text - len, "%s%s", j < good->n_col ? good->header[c].s : c == k ? bad : csv_at(good, 0, (int)c)->s,
                                c + 1 < good->n_col ? "," : "\n");
    }
    snprintf(says, sizeof says, "f.csv: line 2, column %zu (%s): expected a number from ", column, good->header[k].s);
    snprintf(found, sizeof found, "found \"%s\"", bad);
    const int rc = strcmp(kind, "hardware") == 0 ? measure_hws_parse(&hws, "f.csv", text, len, &err) : measure_parse(&l, "f.csv", text, len, NULL, &err);
    if (rc == 0 || !strstr(err.msg, says) || !strstr(err.msg, found))
        fail_msg("%s: expected \"%s\" and that it %s, found \"%s\"", kind, says, found, rc == 0 ? "no refusal" : err.msg);
}

/* Every column of figures of every kind of CSV: what is none is refused where it stands. */
static void test_figures_of_csv(void **state)
{
    (void)state;
    static const struct {
        const char *kind, *text, *words; /* words: columns that are no figures */
    } files[] = {
        { "throughput", "hardware,model,phase,n_devices,params_b,weight_gib,prompt_len,context_len,batch,tokens_per_s\nh,m,decode,1,8,15,0,64,1,30\n",
          " hardware model phase " },
        { "gpu_ops", "hardware,model,tp,op,m,k,n,median_ms\na100,m,1,mlp_up_proj,8,64,64,0.1\n", " hardware model op " },
        { "all_reduce", "topology,n_devices,per_node,bytes,median_ms\na100_dgx,2,2,2048,0.01\n", " topology " },
        { "serving",
          "model_path,system,mode,isl,osl,batch_size,num_workers,tp_size,pp_size,attention_dp_size,moe_tp_size,moe_ep_size,prefill_batch_size,prefill_num_workers,"
          "prefill_tp_size,prefill_pp_size,prefill_attention_dp_size,prefill_moe_tp_size,prefill_moe_ep_size,decode_batch_size,decode_num_workers,decode_tp_size,"
          "decode_pp_size,decode_attention_dp_size,decode_moe_tp_size,decode_moe_ep_size,silicon_ttft_ms,silicon_tpot_ms\n"
          "m,h100_sxm,agg,128,128,8,1,1,1,1,1,1,,,,,,,,,,,,,,,50,10\n", " model_path system mode " },
        { "serving", "model_path,system,mode,isl,osl,tp_size,moe_tp_size,prefill_tp_size,decode_tp_size,silicon_ttft_ms,silicon_tpot_ms\n"
          "m,h100_sxm,disagg,128,128,,,1,1,50,10\n", " model_path system mode " },
        { "hardware", "hardware,mem_bw_gbs_per_device,fp32_tflops,fp16_bf16_tflops_dense,int8_tops_dense,fp8_tflops_dense\nh,1000,10,20,30,40\n", " hardware " },
    };
    static const char *const none[] = { "abc", "nan", "inf", "-1", "-inf", "12abc", "12 abc", "1e999", "0x10", "1.2.3", "1e" };
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        struct csv good;
        struct error err = { 0 };
        assert_ok(parse(&good, files[i].text, &err), err);
        for (size_t k = 0; k < good.n_col; k++) {
            char word[64];
            snprintf(word, sizeof word, " %s ", good.header[k].s);
            for (size_t b = 0; b < ARRAY_LEN(none) && !strstr(files[i].words, word); b++)
                refuse_figure(&good, files[i].kind, k, none[b]);
        }
        csv_free(&good);
    }
}

/* The users of a closed loop stand in a text. */
static void test_concurrency(void **state)
{
    (void)state;
    static const char *const none[] = { "abc", "nan", "-8", "0", "8x", "", "1.5", "1e9" };
    char text[512], says[256];
    struct measurements l;
    struct error err = { 0 };
    static const char file[] = "id,silicon_data_source,model_path,system,isl,osl,silicon_ttft_ms,silicon_tpot_ms\n"
                               "a,x; silicon_concurrency=%s; y,m,h100_sxm,128,128,50,10\n";
    for (size_t i = 0; i < ARRAY_LEN(none); i++) {
        snprintf(text, sizeof text, file, none[i]);
        snprintf(says, sizeof says, "s.csv: line 2, column 3 (silicon_data_source): expected silicon_concurrency=N with a whole number from 1 to below 1e+07, "
                 "found \"silicon_concurrency=%s\"", none[i]);
        assert_fails(measure_parse(&l, "s.csv", text, strlen(text), NULL, &err), err, says);
    }
    snprintf(text, sizeof text, file, "16");
    assert_ok(measure_parse(&l, "s.csv", text, strlen(text), NULL, &err), err);
    assert_true(l.row[0].concurrency == 16);
    measure_free(&l);
}

static void test_per_gpu(void **state)
{
    (void)state;
    static const char text[] = "hardware,model,phase,n_devices,batch,tokens_per_s,notes\n"
                               "h,m,decode,4,1,100,\"tags=per_gpu,cpu,threads=8,ubatch=32; out=9\"\n";
    struct measurements l;
    struct error err = { 0 };
    assert_ok(measure_parse(&l, "t.csv", text, strlen(text), NULL, &err), err);
    assert_true(l.row[0].value == 400);
    assert_int_equal(l.row[0].n_threads, 8);
    assert_int_equal(l.row[0].n_ubatch, 32);
    measure_free(&l);
    /* A header that leaves it open, and what a later revision of the page says of it; a prompt's latency is of all. */
    static const char page[] = "source,hardware,model,phase,n_devices,batch,tokens_per_s\n"
                               "NVIDIA/TensorRT-LLM docs/source/performance.md@1,h,m,serving,4,1,100\n"
                               "NVIDIA/TensorRT-LLM docs/source/performance.md@1,h,m,prefill,4,1,100\n"
                               "NVIDIA/TensorRT-LLM docs/source/performance/perf-overview.md@1,h,m,serving,4,1,100\n";
    assert_ok(measure_parse(&l, "t.csv", page, strlen(page), NULL, &err), err);
    assert_true(l.row[0].value == 400 && l.row[1].value == 100 && l.row[2].value == 100);
    measure_free(&l);
}

/* What notes say of attention in one kernel: whole words, in any case. */
static void test_notes_of_attention(void **state)
{
    static const struct {
        const char *notes;
        bool said, flash;
    } cases[] = {
        { "tags=; fa=1; test=pp512", true, true },
        { "tags=batch_curve,ubatch=2; flash attention yes, x", true, true },
        { "tags=; FlashAttention Yes", true, true },
        { "tags=; FlashAttention No", true, false },
        { "tags=; llama-bench default (no flash attention), RunPod", true, false },
        { "tags=; llama-bench pp8192, no FA, ubatch 512", true, false },
        { "tags=; -fa 0", true, false },
        { "tags=; FA=ON", true, true },
        { "tags=; FA off", true, false },
        { "tags=; -fa off", true, false },
        { "tags=; --flash-attn off", true, false },
        { "tags=; flash attention: off", true, false },
        { "tags=; flash attention = 0", true, false },
        { "tags=; flash attention disabled", true, false },
        { "tags=; no FlashAttention", true, false },
        { "no flash-attn", true, false },
        { "tags=; flash_attn=0", true, false },
        { "tags=; fa: 0", true, false },
        { "tags=; w/o FA", true, false },
        { "tags=; fa=false, x", true, false },
        { "tags=; FA on", true, true },
        { "tags=; -fa", true, true },
        { "tags=; llama-bench -ngl 99 -fa -p 512", true, true },
        { "tags=; --flash-attn on", true, true },
        { "tags=; with flash attention", true, true },
        { "tags=; flash_attn: 1", true, true },
        { "tags=; flash attention enabled", true, true },
        { "tags=; fa auto", true, true },
        { "tags=; not using FA", true, false },
        { "tags=; without flash attention", true, false },
        { "tags=; without using flash attention", true, false },
        { "tags=; --no-flash-attn", true, false },
        { "tags=; no -fa", true, false },
        { "tags=; without -fa", true, false },
        { "tags=; -p 512 -fa", true, true },
        { "tags=; llama-bench --no-flash-attn -p 512", true, false },
        { "tags=; isn't using FA", true, false },
        { "tags=; FA not used", true, false },
        { "tags=; flash attention is not enabled", true, false },
        { "tags=; FA is not off", true, true },
        { "tags=; FA turned off", true, false },
        { "tags=; FA unsupported", true, false },
        { "tags=; non-FA", true, false },
        { "tags=; disabled flash attention", true, false },
        { "tags=; \"flash_attn\": false", true, false },
        { "tags=; w/ FA", true, true },
        { "tags=; using FlashAttention", true, true },
        { "tags=; with flash attention 2", true, true },
        { "tags=; flash attention was enabled", true, true },
        { "tags=; no gain with FA", true, true },
        { "tags=; -fa auto", true, true },
        { "tags=; -fa on", true, true },
        { "tags=; -fa 1,threads=4", true, true },
        { "tags=; -fa 1, 0.5 s apart", true, true },
        { "tags=; -fa 0,0", true, false },
        { "tags=; -fa 0,1", false, false },
        { "tags=; -fa 1,0", false, false },
        { "tags=; -fa off,on", false, false },
        { "tags=; fa=0/1", false, false },
        { "tags=; FA 0 and 1", false, false },
        { "tags=; FA on and off", false, false },
        { "tags=; FA on vs off", false, false },
        { "tags=; with and without FA", false, false },
        { "tags=; without or with FA", false, false },
        { "tags=; with/without FA", false, false },
        { "tags=; FA, not used before", false, false },
        { "tags=; FA doesn't help", false, false },
        { "tags=; volcano FA", false, false },
        { "tags=; FA", true, true },
        { "tags=; FA (off)", false, false },
        { "tags=; FA, disabled", false, false },
        { "tags=; FA, not enabled", false, false },
        { "tags=; (no) FA", false, false },
        { "tags=; without CUDA graphs, FA", false, false },
        { "tags=; no MLA+FA", false, false },
        { "tags=; no MLA; FA", true, true },
        { "tags=; flash attention is not supported", true, false },
        { "tags=; FA was ignored", true, false },
        { "tags=; Q8_0, flash attention, 3 runs", true, true },
        { "flash attention needs more memory", false, false },
        { "tags=; fa=1 not supported", true, false },
        { "tags=; fa=1 (not supported)", true, false },
        { "tags=; fa=1 but ignored", true, false },
        { "tags=; -fa not set", true, false },
        { "tags=; flash attention not available", true, false },
        { "tags=; flash attention is not the limit", false, false },
        { "tags=; fa=1, fa=0", false, false },
        { "tags=; fa=1; with flash attention", true, true },
        { "tags=; fa=0 (not said of this row", true, false },
        { "tags=; fa3 kernels", false, false },
        { "tags=; alfa=1", false, false },
        { "tags=; fa=10", false, false },
        { "tags=; no fast path", false, false },
        { "tags=fa=1", false, false },
        { "", false, false },
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct measurement m = measure_empty(MEASURE_RATE);
        m.notes = cases[i].notes;
        measure_read_notes(&m);
        if (m.flash_stated != cases[i].said || m.flash != cases[i].flash)
            fail_msg("\"%s\": said %d, flash %d", cases[i].notes, m.flash_stated, m.flash);
    }
}

static void test_ops(void **state)
{
    (void)state;
    struct measurements l;
    load(&l, "gpu_ops.csv");
    assert_int_equal(l.n, 4); /* two rows of one key are one */
    const struct measurement *m = &l.row[3];
    assert_string_equal(m->op, "add");
    assert_int_equal(m->n_merged, 2);
    assert_true(fabs(m->value - 3e-6) < 1e-12); /* their median */
    assert_true(isnan(m->n));
    assert_true(isnan(m->query_width) && m->gated == -1); /* no row of its attention, none of what comes down */
    measure_free(&l);
    load(&l, "small_kernels.csv");
    /* (1536 - 1024) / 2; twice as many columns up as rows down; of phi-2 as many */
    assert_true(l.row[4].query_width == 1024 && l.row[4].kv_width == 256 && l.row[4].gated == 1);
    assert_true(isnan(l.row[10].query_width) && l.row[10].gated == 0);
    assert_true(l.row[5].tick_s == 1e-6); /* 6.5 us is a median of whole ones */
    measure_free(&l);
    load(&l, "clocks.csv"); /* of whole microseconds, though a median of two such medians is none; what another model's rows say is theirs */
    assert_true(l.row[0].tick_s == 1e-6 && fabs(l.row[1].value - 6.75e-6) < 1e-12 && l.row[1].tick_s == 1e-6);
    assert_true(l.row[2].tick_s == 0 && l.row[3].tick_s == 0);
    measure_free(&l);
    load(&l, "all_reduce.csv");
    assert_int_equal(l.n, 3);
    assert_true(l.row[1].n_devices == 8 && l.row[1].per_node == 8 && l.row[1].bytes == 67108864);
    measure_free(&l);
}

static void test_serving(void **state)
{
    (void)state;
    struct measurements l;
    load(&l, "serving.csv");
    assert_int_equal(l.n, 6); /* two latencies a line */
    assert_int_equal(l.row[0].metric, METRIC_TTFT);
    assert_int_equal(l.row[1].metric, METRIC_TPOT);
    assert_true(fabs(l.row[1].value - 0.014) < 1e-12 && l.row[1].concurrency == 8 && l.row[1].n_devices == 4);
    assert_true(l.row[2].n_devices == 16 && l.row[2].prefill.tp == 8 && l.row[3].decode.ep == 8);
    /* tp 64, moe 8 x 8 is 8 devices */
    assert_true(l.row[4].decode.tp == 8 && l.row[4].decode.ep == 8 && l.row[4].n_devices == 8);
    measure_free(&l);
}

/* Every output of llama-bench says the same. */
static void test_llama_bench(void **state)
{
    (void)state;
    static const char *const forms[] = { "llama-bench.json", "llama-bench.jsonl", "llama-bench.csv", "llama-bench.sql", "llama-bench.md" };
    for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
        struct measurements l;
        load(&l, forms[i]);
        assert_int_equal(l.file, FILE_LLAMA_BENCH);
        assert_int_equal(l.n, 2);
        const struct measurement *p = &l.row[0], *d = &l.row[1];
        assert_true(p->phase == MEASURE_PREFILL && p->prompt == 512 && p->value == 10000 && p->context == 0);
        assert_true(d->phase == MEASURE_DECODE && d->prompt == 4096 && d->context == 4160 && d->value == 125);
        assert_string_equal(d->quant, "Q4_K_M");
        assert_string_equal(d->label, "llama 8B Q4_K - Medium");
        assert_true(fabs(d->params_b - 8.03) < 0.001 && fabs(d->weight_gib - 4.58) < 0.01);
        assert_string_equal(stack_find(d->engine, d->hardware)->id, "llama.cpp-cuda");
        if (i < 4)
            assert_string_equal(d->hardware, "NVIDIA GeForce RTX 4090");
        measure_free(&l);
    }
}

static void test_llama_bench_refuses(void **state)
{
    (void)state;
    static const char json[] = "[{\"model_type\": \"llama 8B F16\", \"n_prompt\": 512, \"n_gen\": 0, \"avg_ts\": -1}]";
    static const char sql[] = "INSERT INTO test (model_type, avg_ts) VALUES ('llama 8B F16');";
    static const char figure[] = "CREATE TABLE test (x);\nINSERT INTO test (model_type, n_prompt, n_gen, avg_ts) VALUES\n ('llama 8B F16', '512', '0', 'nan');";
    static const char size[] = "model_type,model_size,n_prompt,n_gen,avg_ts\nllama 8B F16,big,512,0,12\n";
    static const char half[] = "[{\"model_type\": \"llama 8B F16\", \"n_prompt\": 512, \"n_gen\": 1.5, \"avg_ts\": 1}]";
    static const char md[] = "| model | test | t/s |\n| --- | --- | --- |\n| llama 8B F16 | tg | 12 |\n";
    struct measurements l;
    struct error err = { 0 };
    assert_fails(measure_parse(&l, "b.json", json, strlen(json), NULL, &err), err, "b.json: line 1, column 72: avg_ts: expected a number from 1e-09 to 1e+12, found \"-1\"");
    assert_fails(measure_parse(&l, "b.json", half, strlen(half), NULL, &err), err, "b.json: line 1, column 59: n_gen: expected a whole number, found \"1.5\"");
    assert_fails(measure_parse(&l, "b.sql", sql, strlen(sql), NULL, &err), err, "b.sql: line 1, column 46: expected as many values");
    assert_fails(measure_parse(&l, "b.sql", figure, strlen(figure), NULL, &err), err, "b.sql: line 3, column 31: avg_ts: expected a number");
    assert_fails(measure_parse(&l, "b.csv", size, strlen(size), NULL, &err), err, "b.csv: line 2, column 14: model_size: expected a number");
    assert_fails(measure_parse(&l, "b.md", md, strlen(md), NULL, &err), err, "b.md: line 3, column 18: expected a test");
    static const struct {
        const char *text, *says;
    } files[] = {
        { "INSERT INTO test (model_type, n_prompt) VALUES ('llama 8B F16', '512);", "line 1, column 65: an unterminated text in quotes" },
        { "INSERT INTO test (model_type)\nWITH (1)", "line 2, column 1: expected VALUES" },
        { "INSERT INTO test (model_type) VALUES 1", "line 1, column 38: expected a list in parentheses" },
        { "INSERT INTO test (model_type) VALUES ('a' 'b')", "line 1, column 43: expected a comma" },
        { "  INSERT INTO test (model_type, n_prompt, n_gen) VALUES ('llama', '1', '2')", "line 1, column 3: avg_ts: expected a value" },
        { "| model | test | t/s |\n| --- | --- | --- |\n| llama 8B F16 | tg8 | none |\n", "line 3, column 24: avg_ts: expected a number" },
        { "| model | test | t/s |\n| --- | --- | --- |\n| llama 8B F16 | tg8 | 1 | 2 |\n", "line 3, column 28: expected 3 cells" },
        { "| model | type_k | test | t/s |\n| --- | --- | --- | --- |\n| llama 8B F16 | zzz | tg8 | 1 |\n",
          "line 3, column 18: type_k: expected a type of the cache, such as f16, q8_0 or q4_0, found \"zzz\"" },
        { "model_type,n_prompt,n_gen,avg_ts,type_v\nllama 8B F16,512,0,12,zzz\n", "line 2, column 23: type_v: expected a type" },
        { "{\"model_type\":\"a\",\"n_gen\":1,\"n_prompt\":1,\"avg_ts\":1}\n{\"model_type\":}\n", "line 2, column 15: " },
    };
    for (size_t i = 0; i < ARRAY_LEN(files); i++)
        assert_fails(measure_parse(&l, "b", files[i].text, strlen(files[i].text), NULL, &err), err, files[i].says);
    assert_fails(measure_parse(&l, "b.json", "[{]", 3, NULL, &err), err, "b.json: line 1, column ");
    assert_fails(measure_parse(&l, "b.json", "{}", 2, NULL, &err), err, "not a result of llama-bench");
    assert_fails(measure_parse(&l, "b.json", "[]", 2, NULL, &err), err, "b.json: line 1, column 1: expected a measurement, found none");
    static const char header[] = "hardware,model,phase,tokens_per_s\n";
    assert_fails(measure_parse(&l, "t.csv", header, strlen(header), NULL, &err), err, "t.csv: line 1, column 1: expected a measurement, found none");
}

/* Sizes of a table: with a unit, or in GiB and billions; no others. */
static void test_llama_bench_sizes(void **state)
{
    (void)state;
    static const struct {
        const char *size, *params, *says; /* NULL: taken */
        double gib, b;
    } rows[] = {
        { "4.58 GiB", "8.03 B", NULL, 4.58, 8.03 },        { "512.00 MiB", "494.03 M", NULL, 0.5, 0.49403 },
        { "1.5 TiB", "1.03 T", NULL, 1536, 1030 },         { "4.58", "8.03", NULL, 4.58, 8.03 },
        { "", "", NULL, NAN, NAN },
        { "nan GiB", "8.03 B", "line 3, column 7: model_size: expected a number from 1 to 1e+15, found \"nan GiB\"", 0, 0 },
        { "-4.58 GiB", "8.03 B", "line 3, column 7: model_size: expected a number from 1 to 1e+15, found \"-4.58 GiB\"", 0, 0 },
        { "0.00 GiB", "8.03 B", "line 3, column 7: model_size: expected a number from 1 to 1e+15, found \"0.00 GiB\"", 0, 0 },
        { "0", "8.03 B", "line 3, column 7: model_size: expected a number from 1 to 1e+15, found \"0\"", 0, 0 },
        { "4.58 PiB", "8.03 B", "line 3, column 7: model_size: expected a number from 1 to 1e+15, found \"4.58 PiB\"", 0, 0 },
        { "4.58 GiB", "nan", "line 3, column 18: model_n_params: expected a number from 1 to 1e+14, found \"nan\"", 0, 0 },
        { "4.58 GiB", "-8.03 B", "line 3, column 18: model_n_params: expected a number from 1 to 1e+14, found \"-8.03 B\"", 0, 0 },
        { "4.58 GiB", "0 B", "line 3, column 18: model_n_params: expected a number from 1 to 1e+14, found \"0 B\"", 0, 0 },
        { "4.58 GiB", "8.03 bees", "line 3, column 18: model_n_params: expected a number from 1 to 1e+14, found \"8.03 bees\"", 0, 0 },
        { "4.58 GiB", "inf B", "line 3, column 18: model_n_params: expected a number", 0, 0 },
    };
    struct measurements l;
    struct error err = { 0 };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char text[256];
        snprintf(text, sizeof text, "| model | size | params | test | t/s |\n| --- | --- | --- | --- | --- |\n| a | %s | %s | tg8 | 1 |\n", rows[i].size, rows[i].params);
        if (rows[i].says) {
            assert_fails(measure_parse(&l, "b.md", text, strlen(text), NULL, &err), err, rows[i].says);
            continue;
        }
        assert_ok(measure_parse(&l, "b.md", text, strlen(text), NULL, &err), err);
        if (isnan(rows[i].gib))
            assert_true(isnan(l.row[0].weight_gib) && isnan(l.row[0].params_b));
        else
            assert_true(fabs(l.row[0].weight_gib / rows[i].gib - 1) < 1e-9 && fabs(l.row[0].params_b / rows[i].b - 1) < 1e-9);
        measure_free(&l);
    }
}

/* A text that nobody has reason to write is refused where it stands, in every form. */
static void test_long_texts(void **state)
{
    (void)state;
    static const struct {
        const char *before, *behind, *says;
    } files[] = {
        { "hardware,model,phase,tokens_per_s\nh,", ",decode,1\n", "line 2, column 3: a field of 4097 bytes, expected at most 4096" },
        { "[{\"n_prompt\":1,\"n_gen\":0,\"avg_ts\":1,\n\"model_type\":\"", "\"}]", "line 2, column 14: model_type: expected at most 4096 bytes, found 4097" },
        { "INSERT INTO t (n_prompt, n_gen, avg_ts, model_type) VALUES (1, 0, 1, '", "')", "line 1, column 70: a value of more than 4096 bytes" },
        { "{\"completed\":1,\"total_output_tokens\":1,\"total_input_tokens\":1,\"duration\":1,\"mean_tpot_ms\":1,\"model_id\":\"", "\"}",
          "line 1, column 104: model_id: expected at most 4096 bytes, found a string" },
    };
    struct measurements l;
    struct error err = { 0 };
    char text[8192];
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        snprintf(text, sizeof text, "%s%04097d%s", files[i].before, 0, files[i].behind);
        assert_fails(measure_parse(&l, "b", text, strlen(text), NULL, &err), err, files[i].says);
        snprintf(text, sizeof text, "%s%04096d%s", files[i].before, 0, files[i].behind);
        assert_ok(measure_parse(&l, "b", text, strlen(text), NULL, &err), err);
        measure_free(&l);
    }
}

/* Refusals of a run name its row and field, and where they stand. */
static void test_run_places(void **state)
{
    (void)state;
    static const struct {
        const char *text, *says;
    } files[] = {
        { "{\"schema\": \"roofcast.run\",\n \"version\": 99}", "b: line 2, column 13: field \"version\": this roofcast reads" },
        { "{\"schema\": \"roofcast.run\", \"version\": 1}", "b: line 1, column 1: field \"provenance\" is missing" },
        { "[\n{\"schema\": \"roofcast.run\", \"version\": 1,\n\"provenance\": [1]}]", "b: line 3, column 15: provenance: expected an object" },
        { "{\"loads\": [{\"model\": \"[\\\"]}\", \"type\": \"F16\", \"n_threads\": 1,\n\"packed_bytes\": -1}], \"schema\": \"roofcast.run\", \"version\": 1,\n"
          "\"provenance\": {\"version\": \"1\", \"compiler\": \"\", \"cflags\": \"\", \"cpu\": \"\", \"isa\": \"\", \"counters\": \"\", \"profile\": null,\n"
          "\"date\": \"\", \"cpus\": null, \"command\": \"\", \"n_threads\": 1}}",
          "b: line 2, column 17: loads[0]: field \"packed_bytes\": expected 0 or more, found -1" },
    };
    struct measurements l;
    struct error err = { 0 };
    for (size_t i = 0; i < ARRAY_LEN(files); i++)
        assert_fails(measure_parse(&l, "b", files[i].text, strlen(files[i].text), NULL, &err), err, files[i].says);
}

/* Many objects: each is found from the one before it, not from the file's beginning. */
static void test_many_places(void **state)
{
    (void)state;
    enum { N = 20000 };
    static const char one[] = "{\"model_type\":\"a\",\"n_gen\":1,\"n_prompt\":1,\"\\u0061vg_ts\":1},\n";
    const size_t n = sizeof one - 1;
    char *text = malloc(N * n + 100);
    struct measurements l;
    struct error err = { 0 };
    assert_non_null(text);
    text[0] = '[';
    for (size_t i = 0; i < N; i++)
        memcpy(text + 1 + i * n, one, n);
    snprintf(text + 1 + N * n, 99, "{\"model_type\":\"a\",\"n_gen\":1,\"n_prompt\":1,\"\\u0061vg_ts\":-1}]");
    assert_fails(measure_parse(&l, "b", text, strlen(text), NULL, &err), err, "b: line 20001, column 56: avg_ts: expected a number");
    free(text);
}

/* What versions of llama-bench wrote of the same, and programs around it. */
static void test_llama_bench_versions(void **state)
{
    (void)state;
#define TEST "\"model_filename\":\"m.gguf\",\"model_type\":\"llama 7B Q4_0\",\"n_prompt\":0,\"n_gen\":128,\"avg_ts\":60.5,"
    static const struct {
        const char *json, *hardware, *stack;
        int n_devices;
        unsigned tags;
    } files[] = {
        /* 2023: flags instead of back ends; Metal had no name */
        { "[{" TEST "\"cuda\":true,\"metal\":false,\"blas\":true,\"gpu_info\":\"NVIDIA GeForce RTX 3090 Ti\"}]", "NVIDIA GeForce RTX 3090 Ti",
          "llama.cpp-cuda", 1, 0 },
        { "[{" TEST "\"cuda\":false,\"metal\":true,\"blas\":true,\"gpu_info\":\"\",\"cpu_info\":\"\"}]", "", "llama.cpp-metal", 1, 0 },
        { "[{" TEST "\"cuda\":false,\"metal\":false,\"gpu_info\":\"\",\"cpu_info\":\"AMD Ryzen 9 7950X\"}]", "AMD Ryzen 9 7950X", "llama.cpp-cpu", 1,
          TAG_CPU },
        { "[{" TEST "\"cuda\":true,\"fused_moe\":1,\"gpu_info\":\"NVIDIA RTX A6000/NVIDIA RTX A6000\"}]", "NVIDIA RTX A6000", "ik_llama.cpp", 2,
          TAG_LAYER_SPLIT },
        /* 2025: Metal is MTL; a CPU's list begins with its library */
        { "[{" TEST "\"backends\":\"MTL,BLAS\",\"gpu_info\":\"Apple M1 Pro\",\"n_gpu_layers\":-1}]", "Apple M1 Pro", "llama.cpp-metal", 1, 0 },
        { "[{" TEST "\"backends\":\"BLAS\",\"gpu_info\":\"\",\"cpu_info\":\"Accelerate, Apple M1 Pro\"}]", "Apple M1 Pro", "llama.cpp-cpu", 1, TAG_CPU },
        /* one of two, neither, the second kind, some experts elsewhere */
        { "[{" TEST "\"backends\":\"CUDA\",\"gpu_info\":\"X, X\",\"split_mode\":\"none\"}]", "X", "llama.cpp-cuda", 1, 0 },
        { "[{" TEST "\"backends\":\"CUDA\",\"gpu_info\":\"X, X\",\"devices\":\"none\",\"cpu_info\":\"AMD Ryzen AI 9 HX 370 w/ Radeon 890M\"}]",
          "AMD Ryzen AI 9 HX 370 w/ Radeon 890M", "llama.cpp-cpu", 1, TAG_CPU },
        { "[{" TEST "\"backends\":\"Vulkan\",\"gpu_info\":\"A, B\",\"devices\":\"Vulkan1\"}]", "B", "llama.cpp-vulkan", 1, 0 },
        { "[{" TEST "\"backends\":\"Vulkan\",\"gpu_info\":\"A, B\",\"split_mode\":\"none\",\"main_gpu\":1}]", "B", "llama.cpp-vulkan", 1, 0 },
        { "[{" TEST "\"backends\":\"CUDA\",\"gpu_info\":\"X\",\"main_gpu\":1e300,\"split_mode\":\"none\",\"devices\":\"CUDA99999999999\"}]", "X",
          "llama.cpp-cuda", 1, 0 },
        { "[{" TEST "\"cuda\":false,\"vulkan\":true,\"gpu_info\":\"\",\"cpu_info\":\"AMD Ryzen 9 7950X\"}]", "", "llama.cpp-vulkan", 1, 0 },
        { "[{" TEST "\"cuda\":true,\"vulkan\":false,\"gpu_info\":\"\",\"cpu_info\":\"AMD Ryzen 9 7950X\"}]", "AMD Ryzen 9 7950X", "llama.cpp-cpu", 1,
          TAG_CPU },
        /* a processor's own GPU, alone and beside another */
        { "[{" TEST "\"backends\":\"Vulkan\",\"gpu_info\":\"AMD Radeon Graphics\",\"cpu_info\":\"AMD RYZEN AI MAX+ 395 w/ Radeon 8060S\"}]",
          "AMD RYZEN AI MAX+ 395 w/ Radeon 8060S", "llama.cpp-vulkan", 1, 0 },
        { "[{" TEST "\"backends\":\"ROCm\",\"gpu_info\":\"AMD Radeon Graphics\",\"cpu_info\":\"AMD Ryzen 9 7950X\"}]", "AMD Radeon Graphics",
          "llama.cpp-rocm", 1, 0 },
        { "[{" TEST "\"backends\":\"Vulkan\",\"gpu_info\":\"Intel(R) UHD Graphics 770, AMD Radeon Graphics (RADV RAPHAEL), X, llvmpipe\"}]", "X",
          "llama.cpp-vulkan", 1, 0 },
        { "[{" TEST "\"backends\":\"ROCm\",\"gpu_info\":\"AMD Instinct MI60 / MI50\"}]", "AMD Instinct MI60 / MI50", "llama.cpp-rocm", 1, 0 },
        { "[{" TEST "\"backends\":\"Vulkan\",\"gpu_info\":\"llvmpipe (LLVM 17.0.6, 256 bits), AMD Radeon 780M Graphics (RADV PHOENIX), X\"}]", "X",
          "llama.cpp-vulkan", 1, 0 },
        { "[{" TEST "\"backends\":\"Vulkan\",\"gpu_info\":\"Intel(R) Arc(TM) 140V GPU (16GB), Intel(R) Arc(TM) A770 Graphics\"}]",
          "Intel(R) Arc(TM) A770 Graphics", "llama.cpp-vulkan", 1, 0 },
        { "[{" TEST "\"backends\":\"Vulkan\",\"gpu_info\":\"AMD Radeon 780M Graphics (RADV PHOENIX)\"}]", "AMD Radeon 780M Graphics (RADV PHOENIX)",
          "llama.cpp-vulkan", 1, 0 },
        { "[{" TEST "\"backends\":\"Vulkan\",\"gpu_info\":\"Intel(R) Arc(TM) B580 Graphics, Intel(R) Arc(TM) B580 Graphics\"}]",
          "Intel(R) Arc(TM) B580 Graphics", "llama.cpp-vulkan", 2, TAG_LAYER_SPLIT },
        { "[{" TEST "\"backends\":\"CUDA\",\"gpu_info\":\"X\",\"no_kv_offload\":true}]", "X", "llama.cpp-cuda", 1, TAG_PARTIAL_OFFLOAD },
        { "[{" TEST "\"backends\":\"CUDA\",\"gpu_info\":\"X\",\"no_kv_offload\":false}]", "X", "llama.cpp-cuda", 1, 0 },
        { "[{" TEST "\"backends\":\"CUDA\",\"gpu_info\":\"X\",\"n_cpu_moe\":20}]", "X", "llama.cpp-cuda", 1, TAG_PARTIAL_OFFLOAD },
        /* Windows */
        { "\xef\xbb\xbf{" TEST "\"gpu_info\":\"X\",\"backends\":\"CUDA\"}\r\n{" TEST "\"gpu_info\":\"X\",\"backends\":\"CUDA\"}\r\n", "X",
          "llama.cpp-cuda", 1, 0 },
    };
#undef TEST
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        struct measurements l;
        struct error err = { 0 };
        assert_ok(measure_parse(&l, "b.json", files[i].json, strlen(files[i].json), NULL, &err), err);
        const struct measurement *m = &l.row[l.n - 1];
        assert_string_equal(m->hardware, files[i].hardware);
        assert_string_equal(stack_find(m->engine, m->hardware)->id, files[i].stack);
        assert_int_equal(m->n_devices, files[i].n_devices);
        assert_int_equal(m->tags, files[i].tags);
        measure_free(&l);
    }
}

/* Two kinds of GPUs share a model, unless one is asked for. */
static void test_other_gpus(void **state)
{
    (void)state;
    static const char csv[] = "model_type,n_prompt,n_gen,avg_ts,gpu_info,backends,split_mode,devices\n"
                              "m,0,128,60,\"X, Y, X\",CUDA,layer,\nm,0,128,60,\"X, Y\",CUDA,none,\nm,0,128,60,\"X, Y\",CUDA,layer,CUDA1\n"
                              "m,0,128,60,\"X, X\",CUDA,layer,\n";
    struct measurements l;
    struct error err = { 0 };
    assert_ok(measure_parse(&l, "b.csv", csv, strlen(csv), NULL, &err), err);
    assert_true(l.row[0].other_gpus && l.row[0].n_devices == 2 && l.row[0].tags == TAG_LAYER_SPLIT);
    assert_string_equal(l.row[0].remark, "Y runs a part of it: estimated as if X did");
    for (size_t i = 1; i < l.n; i++) {
        assert_false(l.row[i].other_gpus);
        assert_string_equal(l.row[i].remark, "");
    }
    measure_free(&l);
}

/* -1: flash attention wherever the back end can; a partial offload is known by its layers. */
static void test_llama_bench_settings(void **state)
{
    (void)state;
    static const char csv[] = "model_type,n_prompt,n_gen,avg_ts,flash_attn,n_gpu_layers,gpu_info,backends\n"
                              "llama 7B Q4_0,0,128,60,-1,-1,X,CUDA\nllama 7B Q4_0,0,128,60,0,99,X,CUDA\n"
                              "llama 7B Q4_0,0,128,60,1,10,X,CUDA\nllama 7B Q4_0,0,128,60,,,X,CUDA\n";
    static const struct {
        bool flash, said;
        int layers;
    } want[] = { { true, true, 0 }, { false, true, 99 }, { true, true, 10 }, { false, false, 0 } };
    struct measurements l;
    struct error err = { 0 };
    assert_ok(measure_parse(&l, "b.csv", csv, strlen(csv), NULL, &err), err);
    assert_int_equal(l.n, ARRAY_LEN(want));
    for (size_t i = 0; i < l.n; i++)
        assert_true(l.row[i].flash == want[i].flash && l.row[i].flash_stated == want[i].said && l.row[i].n_gpu_layers == want[i].layers);
    measure_free(&l);
}

/* llama.cpp's own number in every form; a fork's is another count, and its generation after a prompt is not a prompt. */
static void test_llama_bench_builds(void **state)
{
    (void)state;
    static const char *const forms[] = { "llama-bench.json", "llama-bench.jsonl", "llama-bench.csv", "llama-bench.sql", "llama-bench.md" };
    struct measurements l;
    struct error err = { 0 };
    for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
        load(&l, forms[i]);
        assert_true(l.row[0].build == 5000 && l.row[1].build == 5000);
        assert_string_equal(l.row[1].version, "abc1234");
        measure_free(&l);
    }
    static const char two[] = "| model | test | t/s |\n| - | - | - |\n| a | tg8 | 1 |\n\nbuild: 4426e298 (2824)\n"
                              "| model | test | t/s |\n| - | - | - |\n| a | tg8 | 1 |\n\n  build: abcd (2825)\n"
                              "| model | test | t/s |\n| - | - | - |\n| a | tg8 | 1 |\n";
    assert_ok(measure_parse(&l, "b.md", two, strlen(two), NULL, &err), err);
    assert_true(l.n == 3 && l.row[0].build == 2824 && l.row[1].build == 2825 && l.row[2].build == 0);
    measure_free(&l);
    static const char odd[] = "| model | test | t/s |\n| - | - | - |\n| a | tg8 | 1 |\nbuild: ";
    assert_ok(measure_parse(&l, "b.md", odd, strlen(odd), NULL, &err), err);
    assert_int_equal(l.row[0].build, 0);
    measure_free(&l);
    static const char ik[] = "| model | backend | ngl | fmoe | test | t/s |\n| - | - | - | - | - | - |\n"
                             "| a | CUDA | 99 | 1 | tg8@pp512 | 1 |\n| a | CUDA | 99 | 1 | pp512+tg8 | 1 |\n"
                             "build: 3f2b1c (4001)\n";
    assert_ok(measure_parse(&l, "b.md", ik, strlen(ik), NULL, &err), err);
    assert_true(l.row[0].build == 0 && l.row[0].phase == MEASURE_DECODE && l.row[0].prompt == 512 && l.row[1].phase == MEASURE_REQUEST);
    assert_string_equal(stack_find(l.row[0].engine, "")->id, "ik_llama.cpp");
    measure_free(&l);
    static const char json[] = "[{\"model_type\": \"a\", \"n_prompt\": 512, \"n_gen\": 8, \"avg_ts\": 4, \"avg_ns\": 2000000000, \"test\": \"tg8@pp512\", "
                               "\"fused_moe\": true, \"build_number\": 4001}]";
    assert_ok(measure_parse(&l, "b.json", json, strlen(json), NULL, &err), err);
    assert_true(l.row[0].build == 0 && l.row[0].phase == MEASURE_DECODE && l.row[0].prompt == 512 && l.row[0].context == 516 && !*l.row[0].remark);
    measure_free(&l);
}

/* Fields that contradict each other or cannot be, by their place. */
static void test_llama_bench_contradictions(void **state)
{
    (void)state;
    static const struct {
        const char *fields, *says; /* NULL: taken */
    } rows[] = {
        { "\"flash_attn\": \"maybe\"", "line 2, column 15: flash_attn: expected 0, 1, -1, on, off or auto, found \"maybe\"" },
        { "\"flash_attn\": 2", "line 2, column 15: flash_attn: expected" },
        { "\"flash_attn\": \"auto\"", NULL },
        { "\"type_k\": \"zzz\"", "line 2, column 11: type_k: expected a type of the cache" },
        { "\"avg_ns\": 0", "line 2, column 11: avg_ns: expected a number from 1 to 1e+18, found \"0\"" },
        { "\"avg_ns\": -5", "line 2, column 11: avg_ns: expected" },
        { "\"avg_ns\": \"nan\"", "line 2, column 11: avg_ns: expected" },
        { "\"avg_ns\": NaN", NULL }, /* JSON has none: not said */
        { "\"avg_ns\": 1000000000", NULL },
        { "\"avg_ns\": 2100000000", "line 3, column 58: avg_ts: expected 60.9524, which 128 tokens in avg_ns of 2.1 s are, found \"128\"" },
        { "\"avg_ns\": 400000000", "avg_ts: expected 320" },
        { "\"build_number\": -1", "line 2, column 17: build_number: expected a number from 0 to 1e+07" },
        { "\"build_number\": 1.5", "line 2, column 17: build_number: expected a whole number" },
        { "\"build_number\": \"5000x\"", "line 2, column 17: build_number: expected" },
        { "\"test_time\": \"yesterday\"", "line 2, column 14: test_time: expected a date as in 2026-01-02T03:04:05Z, found \"yesterday\"" },
        { "\"test_time\": \"2025-13-45T00:00:00Z\"", "line 2, column 14: test_time: expected a date" },
        { "\"test_time\": \"1970-01-01T00:00:00Z\"", NULL },
        { "\"n_depth\": -1", "line 2, column 12: n_depth: expected a number from 0 to 1e+08" },
        { "\"n_depth\": 0.5", "line 2, column 12: n_depth: expected a whole number" },
        { "\"n_depth\": 1e300", "line 2, column 12: n_depth: expected a number" },
        { "\"n_ubatch\": 0", "line 2, column 13: n_ubatch: expected a number from 1" },
        { "\"n_batch\": 0", "line 2, column 12: n_batch: expected a number from 1" },
        { "\"n_threads\": 1.5", "line 2, column 14: n_threads: expected a whole number" },
        { "\"n_gpu_layers\": 2.5", "line 2, column 17: n_gpu_layers: expected a whole number" },
        { "\"n_gpu_layers\": 1e300", "line 2, column 17: n_gpu_layers: expected a number" },
    };
    struct measurements l;
    struct error err = { 0 };
    char text[512];
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        snprintf(text, sizeof text, "[{\"model_type\": \"a\",\n%s,\n\"n_prompt\": 0, \"n_gen\": 128, \"poll\": 10000000, \"avg_ts\": 128}]", rows[i].fields);
        const int rc = measure_parse(&l, "b.json", text, strlen(text), NULL, &err);
        if (rows[i].says ? rc == 0 || !strstr(err.msg, rows[i].says) : rc != 0)
            fail_msg("%s: expected \"%s\", found \"%s\"", rows[i].fields, rows[i].says ? rows[i].says : "", rc == 0 ? "" : err.msg);
        if (rc == 0) {
            const bool unset = strstr(rows[i].fields, "1970") != NULL;
            assert_string_equal(l.row[0].remark, unset ? "test_time is before the first measurements: assumed current" : "");
            measure_free(&l);
        }
    }
    static const char apart[] = "model_type,n_prompt,n_gen,avg_ns,avg_ts\na,0,128,1200000000,128\na,0,128,1050000000,128\n";
    assert_ok(measure_parse(&l, "b.csv", apart, strlen(apart), NULL, &err), err);
    assert_string_equal(l.row[0].remark, "avg_ts says 128 tokens/s, avg_ns 106.667: its repetitions differ, or one of both is wrong");
    assert_true(l.row[0].tags & TAG_INCONSISTENT && !(l.row[1].tags & TAG_INCONSISTENT) && !*l.row[1].remark);
    measure_free(&l);
}

/* A table's test is read to its end: what is not understood is not half of it. */
static void test_llama_bench_tests(void **state)
{
    (void)state;
    static const struct {
        const char *test;
        double prompt, context, out; /* NaN, 0: refused */
    } rows[] = {
        { "pp512", 512, 0, NAN },      { "tg128", 0, 64, 128 },           { "pp 512", 512, 0, NAN },     { "pp512 @ d4096", 512, 4096, NAN },
        { "tg8@pp512", 512, 516, 8 },  { "tg8 @ d512", 512, 516, 8 },     { "pp512+tg128", 512, 576, 128 }, { "pp512+tg128 @ d64", 512, 640, 128 },
        { "pp1.5", 0, 0, 0 },          { "tg8 @ d4096.5", 0, 0, 0 },      { "tg8 @ d-5", 0, 0, 0 },      { "pg512,128", 0, 0, 0 },
        { "pp512tg128", 0, 0, 0 },     { "pp512 @ d1e3", 0, 0, 0 },       { "pp512 pp128", 0, 0, 0 },    { "tg128x", 0, 0, 0 },
        { "pp512+", 0, 0, 0 },         { "pp512,tg128", 0, 0, 0 },        { "pp512 @", 0, 0, 0 },        { "pp0", 0, 0, 0 },
        { "tg8@pp512 @ d5", 0, 0, 0 }, { "pp99999999999999999", 0, 0, 0 }, { "pp512 @ d4096 d8", 0, 0, 0 },
    };
    struct measurements l;
    struct error err = { 0 };
    char text[256], says[128];
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        snprintf(text, sizeof text, "| model | test | t/s |\n| - | - | - |\n| a | %s | 1 |\n", rows[i].test);
        snprintf(says, sizeof says, "b.md: line 3, column 7: expected a test such as pp512 or tg128 @ d4096, found \"%s\"", rows[i].test);
        if (rows[i].out == 0) {
            assert_fails(measure_parse(&l, "b.md", text, strlen(text), NULL, &err), err, says);
            continue;
        }
        assert_ok(measure_parse(&l, "b.md", text, strlen(text), NULL, &err), err);
        assert_true(l.row[0].prompt == rows[i].prompt && l.row[0].context == rows[i].context);
        assert_true(isnan(rows[i].out) ? isnan(l.row[0].out) : l.row[0].out == rows[i].out);
        measure_free(&l);
    }
}

/* Comments of SQL are blanks, whatever they say, and places are those of the file. */
static void test_sql_comments(void **state)
{
    (void)state;
    static const char begin[] = "-- INSERT INTO it's\n/* (\n' */ CREATE TABLE t (x TEXT DEFAULT 'INSERT INTO', -- a, b)\n y);\n"
                                "INSERT /**/INTO x;INSERT INTO t -- the (table)\n (model_type, /* of it */ n_prompt, n_gen, avg_ts -- rate\n)"
                                " /*, */ VALUES -- (1, 2)\n('a -- b /* c', 0, 8 /* ) */, %s), -- and\n ('c', 0, 16, %s);\n-- end";
    char text[512];
    struct measurements l;
    struct error err = { 0 };
    snprintf(text, sizeof text, begin, "1", "2");
    assert_ok(measure_parse(&l, "b.sql", text, strlen(text), NULL, &err), err);
    assert_true(l.n == 2 && l.row[0].value == 1 && l.row[0].out == 8 && l.row[1].value == 2 && l.row[1].out == 16 && l.row[0].line == 5);
    assert_string_equal(l.row[0].label, "a -- b /* c");
    measure_free(&l);
    snprintf(text, sizeof text, begin, "-1", "2");
    assert_fails(measure_parse(&l, "b.sql", text, strlen(text), NULL, &err), err, "b.sql: line 8, column 31: avg_ts: expected a number");
    snprintf(text, sizeof text, begin, "1", "x");
    assert_fails(measure_parse(&l, "b.sql", text, strlen(text), NULL, &err), err, "b.sql: line 9, column 15: avg_ts: expected a number");
}

/* A value's place in JSON, whatever stands before it; texts of other programs. */
static void test_cpu_topology(void **state)
{
    (void)state;
    static const char array[] = "[\n  {\"model_type\": \"a \\\" \\\\\", \"n_gen\": 1, \"n_prompt\": 1,\n   \"avg_ts\": 3, \"x\": {\"avg_ts\": 0}},\n"
                                "  {\"x\": [{\"avg_ts\": 0}], \"model_type\": \"avg_ts\", \"n_gen\": 1, \"n_prompt\": 1,\n   \"avg_ts\" : 1e99}\n]\n";
    static const char lines[] = "{\"model_type\":\"a\",\"n_gen\":1,\"n_prompt\":1,\"avg_ts\":1}\n\n{\"model_type\":\"a\",\"n_gen\":-1,\"n_prompt\":1,\"avg_ts\":1}\n";
    static const char after_log[] = "ggml_cuda_init: found 1\n[\n {\"model_type\": \"a\", \"avg_ts\": 1}]\n", wide[] = "\xff\xfe[\0{\0";
    struct measurements l;
    struct error err = { 0 };
    assert_fails(measure_parse(&l, "b.json", array, strlen(array), NULL, &err), err, "b.json: line 5, column 15: avg_ts: expected");
    assert_fails(measure_parse(&l, "b.json", lines, strlen(lines), NULL, &err), err, "b.json: line 3, column 27: n_gen: expected");
    assert_fails(measure_parse(&l, "b.json", "[1, {}]", 7, NULL, &err), err, "b.json: line 1, column 2: not a result");
    assert_fails(measure_parse(&l, "b.json", after_log, strlen(after_log), NULL, &err), err, "line 1, column 1: expected llama-bench's JSON");
    assert_fails(measure_parse(&l, "b.json", wide, sizeof wide - 1, NULL, &err), err, "line 1, column 1: expected UTF-8, found UTF-16");
}

/* Numbers of servers' results that no run reaches, that are none, or that have another unit. */
static void test_servers_refuse(void **state)
{
    (void)state;
#define SERVE "{\"completed\": 10, \"total_input_tokens\": 100,\n\"total_output_tokens\": 100, \"duration\": 1, "
    static const struct {
        const char *text, *says;
    } files[] = {
        { SERVE "\"mean_ttft_ms\": -5}", "line 2, column 60: mean_ttft_ms: expected 0 to 3.2e+10, found -5" },
        { SERVE "\"mean_ttft_ms\": 1e308}", "mean_ttft_ms: expected 0 to" },
        { SERVE "\"mean_ttft_ms\": \"60\"}", "mean_ttft_ms: expected a number, found a string" },
        { SERVE "\"mean_ttft_ms\": NaN}", "line 2, column 60: mean_ttft_ms: expected a time above 0, or mean_tpot_ms, found NaN" },
        { SERVE "\"mean_ttft_ms\": 0}", "line 2, column 60: mean_ttft_ms: expected a time above 0" },
        { SERVE "\"mean_ttft_ms\": 1, \"x\": NaN, \"model_id\": 5}", "line 2, column 85: model_id: expected a text, found 5" },
        { "{\"requests_per_second\": 0, \"elapsed_time\": 1, \"num_requests\": 1, \"total_num_tokens\": 1, \"tokens_per_second\": 1}",
          "line 1, column 25: requests_per_second: expected 1e-09 to" },
        { "{\"requests_per_second\": 1, \"elapsed_time\": 0, \"num_requests\": 1, \"total_num_tokens\": 1, \"tokens_per_second\": 1}",
          "line 1, column 44: elapsed_time: expected 1e-09 to" },
        { "Metric,avg\nTime to First Token (ms),50\nRequest Throughput (requests/sec),0\n", "line 3, column 35 (avg): expected a number above 0" },
        { "Metric,avg\nTime to First Token (ms),50\nRequest Latency (ms),0.0\n", "line 3, column 22 (avg): expected a number above 0" },
        { "{\"completed\": 0, \"total_output_tokens\": 0}", "line 1, column 15: completed: expected 1 to" },
        { "{\"avg_latency\": Infinity}", "line 1, column 17: avg_latency: expected a number, found Infinity" },
        { "{\"avg_latency\": 1e300}", "avg_latency: expected" },
        { "{\"requests_per_second\": 1, \"elapsed_time\": 1, \"num_requests\": 1e300}", "line 1, column 63: num_requests: expected" },
        { "Metric,avg\nTime to First Token (s),0.05\n", "line 2, column 1 (Metric): expected \"Time to First Token (ms)\"" },
        { "Metric,avg\nInter Token Latency (ms),1e308\n", "line 2, column 26 (avg): expected a number above 0, up to" },
        { "Metric,avg\nInter Token Latency (ms),\"1.146,31\"\n", "line 2, column 26 (avg): expected a number above 0, up to" },
        { "Metric,avg\nInter Token Latency (ms),\"1,14\"\n", "line 2, column 26 (avg): expected a number above 0, up to" },
        { "Metric,avg\nInter Token Latency (ms),\",114\"\n", "line 2, column 26 (avg): expected a number above 0, up to" },
        { "Metric,avg\nInter Token Latency (ms),\"1145,141\"\n", "line 2, column 26 (avg): expected a number above 0, up to" },
        { "Metric,avg\nRequest Latency (ms),\"1,234,567.5\"\n\nMetric,avg\nRequest Latency (ms),3\n", "line 5, column 1 (Metric): a second" },
    };
#undef SERVE
    struct measurements l;
    struct error err = { 0 };
    for (size_t i = 0; i < ARRAY_LEN(files); i++)
        assert_fails(measure_parse(&l, "b", files[i].text, strlen(files[i].text), NULL, &err), err, files[i].says);
    /* SGLang's, with its own NaN and Infinity; neither counts inside a text */
    static const char sglang[] = "{\"backend\": \"sglang\", \"request_rate\": Infinity, \"x\": [NaN, -Infinity, \"NaN \\\" NaN\"], \"completed\": 10, "
                                 "\"total_input_tokens\": 100, \"total_output_tokens\": 100, \"duration\": 1, \"mean_tpot_ms\": 5}\n";
    assert_ok(measure_parse(&l, "b", sglang, strlen(sglang), NULL, &err), err);
    assert_int_equal(l.n, 1);
    assert_string_equal(l.row[0].engine, "sglang");
    measure_free(&l);
}

static void test_servers(void **state)
{
    (void)state;
    struct measurements l;
    load(&l, "vllm-serve.json");
    assert_true(l.n == 2 && l.row[0].prompt == 1024 && l.row[0].out == 128 && l.row[0].concurrency == 16);
    assert_true(fabs(l.row[0].value - 0.1205) < 1e-12 && fabs(l.row[1].value - 0.02225) < 1e-12);
    measure_free(&l);
    load(&l, "vllm-latency.json");
    assert_true(l.n == 1 && l.row[0].value == 8 * 128 / 1.6);
    measure_free(&l);
    load(&l, "vllm-throughput.json");
    assert_true(l.n == 1 && l.row[0].value == 2000 && l.row[0].tags & TAG_TOTAL_TOKENS && l.row[0].prompt + l.row[0].out == 400);
    measure_free(&l);
    load(&l, "aiperf.csv");
    assert_true(l.n == 2 && fabs(l.row[0].value - 1.1205) < 1e-12);
    assert_true(fabs(l.row[0].concurrency - 2.5 * 2.94625) < 1e-9); /* Little's law */
    measure_free(&l);
}

/* What a server's file does not say is said beside it, or assumed in words. */
static void test_unsaid(void **state)
{
    (void)state;
    struct measurements l;
    struct error err = { 0 };
    char type[64];
    struct measure_context x = { .hardware = "", .model = "org/Model-8B-Instruct-FP8", .type = "AWQ", .tp = 4 };
    assert_ok(measure_load(&l, fixture("vllm-latency.json"), &x, &err), err);
    assert_true(l.row[0].prompt == 32 && l.row[0].out == 128 && l.row[0].batch == 8 && l.row[0].n_devices == 4 && l.row[0].tags & TAG_TENSOR_PARALLEL);
    assert_string_equal(l.row[0].assumed, "input 32 tokens, output 128 tokens, 8 sequences, the defaults of vllm bench latency: its file does not state them (--input-len, "
                                          "--output-len, --batch-size set them)");
    assert_string_equal(l.row[0].quant, "FP8");
    measure_free(&l);
    x = (struct measure_context){ .model = "m", .type = "AWQ", .input_len = 256, .output_len = 64, .batch = 2 };
    assert_ok(measure_load(&l, fixture("vllm-latency.json"), &x, &err), err);
    assert_true(l.row[0].prompt == 256 && l.row[0].out == 64 && l.row[0].batch == 2 && l.row[0].value == 2 * 64 / 1.6 && !*l.row[0].assumed);
    assert_string_equal(l.row[0].quant, "AWQ");
    measure_free(&l);
    assert_int_equal(measure_load(&l, fixture("vllm-throughput.json"), &x, &err), -1);
    assert_non_null(strstr(err.msg, "total_num_tokens: expected 100 requests of 256 and 64 tokens (--input-len, --output-len), found 400 tokens each"));
    x.input_len = 0;
    assert_ok(measure_load(&l, fixture("vllm-throughput.json"), &x, &err), err);
    assert_true(l.row[0].prompt == 336 && l.row[0].out == 64 && l.row[0].batch == 2 && !*l.row[0].assumed);
    measure_free(&l);
    load(&l, "vllm-throughput.json");
    assert_true(l.row[0].prompt == 200 && strstr(l.row[0].assumed, "halves of a request's tokens"));
    measure_free(&l);
    load(&l, "vllm-serve.json");
    assert_true(!*l.row[0].assumed && !*l.row[0].quant);
    measure_free(&l);
    assert_string_equal(quant_in_name(type, sizeof type, "Qwen/Qwen2.5-7B-Instruct-GPTQ-Int4"), "GPTQ-Int4");
    assert_string_equal(quant_in_name(type, sizeof type, "RedHatAI/Llama-FP8-dynamic"), "FP8-dynamic");
    assert_string_equal(quant_in_name(type, sizeof type, "x/Model.w4a16"), "w4a16");
    assert_string_equal(quant_in_name(type, sizeof type, "fp8lab/Hawq-7B"), "");
}

static void test_hardware(void **state)
{
    (void)state;
    struct measure_hws l;
    struct error err = { 0 };
    assert_ok(measure_hws_load(&l, fixture("hardware.csv"), &err), err);
    const struct measure_hw *h = measure_hws_find(&l, "Example Accelerator X1");
    assert_non_null(h);
    assert_true(h->bytes_s == 800e9 && h->fp16 == 200e12 && isnan(h->fp32));
    assert_null(measure_hws_find(&l, "Example"));
    measure_hws_free(&l);
    static const char twice[] = "hardware,mem_bw_gbs_per_device\na,1\na,2\n";
    assert_fails(measure_hws_parse(&l, "h.csv", twice, strlen(twice), &err), err, "h.csv: line 3, column 1 (hardware): a second row");
    static const char nothing[] = "hardware,mem_bw_gbs_per_device,fp32_tflops\na,1,0\n";
    assert_fails(measure_hws_parse(&l, "h.csv", nothing, strlen(nothing), &err), err,
                 "h.csv: line 2, column 5 (fp32_tflops): expected more than 0, found \"0\": leave it blank if unknown");
}

static void test_names(void **state)
{
    (void)state;
    static const struct {
        const char *engine, *hardware, *id;
    } stacks[] = {
        { "vLLM 0.6.3", "NVIDIA A100", "vllm" },         { "llama.cpp (vulkan_radv)", "AMD", "llama.cpp-vulkan" },
        { "llama.cpp", "NVIDIA RTX 3090", "llama.cpp-cuda" }, { "llama.cpp", "Apple M2", "llama.cpp-metal" },
        { "llama.cpp", "X [CPU]", "llama.cpp-cpu" },     { "ollama or llama.cpp", "?", "ollama" },
        { "ik_llama.cpp", "?", "ik_llama.cpp" },         { "mlx-lm 0.28.2", "Apple M4", "mlx" },
        { "trtllm", "h100_sxm", "tensorrt-llm" },        { "Something new", "?", "other" },
        { "LMStudio 0.3", "Apple M4", "llama.cpp-metal" }, { "llama.cpp (cuBLAS)", "?", "llama.cpp-cuda" },
        { "llama.cpp (CLBlast)", "?", "llama.cpp" },     { "llama.cpp (OpenBLAS)", "?", "llama.cpp-cpu" },
        { "llama.cpp (MTL,BLAS)", "?", "llama.cpp-metal" }, { "LM Studio (MLX)", "Apple M4", "mlx" },
        { "llama.cpp", "AMD Ryzen AI 9 HX 370", "llama.cpp-cpu" }, { "llama.cpp", "AMD Ryzen AI Max+ 395 (Radeon 8060S)", "llama.cpp-rocm" },
        { "llama.cpp", "AMD Ryzen AI Max+ 395 (Radeon 8060S) [CPU]", "llama.cpp-cpu" }, { "llama.cpp", "AMD Ryzen AI 9 HX 370 (iGPU)", "llama.cpp" },
        { "KTransformers", "?", "other" },               { "llama-server", "NVIDIA L4", "llama.cpp-cuda" },
    };
    for (size_t i = 0; i < ARRAY_LEN(stacks); i++)
        assert_string_equal(stack_find(stacks[i].engine, stacks[i].hardware)->id, stacks[i].id);
    const struct stack *mlx = stack_find("mlx", "?"), *cpp = stack_find("llama.cpp", "RTX");
    assert_string_equal(quant_find("GPTQ-int4", mlx).type, "GPTQ");
    assert_true(quant_find("mlx-q4", mlx).bits == 4.5 && quant_find("mlx-q5-g32", mlx).bits == 6);
    assert_true(quant_find("EXL2-4.0bpw", mlx).bits == 4);
    assert_string_equal(quant_find("UD-Q4_K_XL", cpp).type, "Q4_K_M");
    assert_string_equal(quant_find("IQ4_XS (custom)", cpp).type, "IQ4_XS");
    assert_string_equal(quant_find("Q6_K_L", cpp).type, "Q6_K");
    assert_string_equal(quant_find("", cpp).type, "Q4_K_M");
    assert_false(quant_find("", cpp).known);
    /* a type with more around it; a word that is none: what most people run */
    assert_string_equal(quant_find("NVFP4+FP8KV", mlx).type, "NVFP4");
    assert_string_equal(quant_find("FP8-dynamic", mlx).type, "FP8_CHANNEL");
    assert_string_equal(quant_find("INT8 W8A8", mlx).type, "INT8");
    assert_string_equal(quant_find("AutoRound INT4", mlx).type, "W4A16");
    assert_string_equal(quant_find("IQ2_M", cpp).type, "IQ2_M");
    assert_string_equal(quant_find("AWQ-Marlin", mlx).type, "AWQ");
    assert_true(quant_find("bnb-nf4", mlx).bits == 4.5);
    assert_string_equal(quant_find("Q4_K_XL UD", cpp).type, "Q4_K_M");
    assert_string_equal(quant_find("Q4_K - Medium", cpp).type, "Q4_K_M");
    assert_string_equal(quant_find("GGUF", cpp).type, "Q4_K_M");
    assert_false(quant_find("GGUF", cpp).known);
    assert_true(model_active_params("Ling-flash-2.0") == 6.1e9);
}

/* Labels have an architecture, names a family; what of a family is mixtures of experts. */
static void test_families(void **state)
{
    (void)state;
    static const struct {
        const char *label, *arch;
    } labels[] = {
        { "gemma4 ?B IQ4_NL - 4.5 bpw", "gemma4" }, { "qwen3moe 30B.A3B Q4_K - Medium", "qwen3moe" }, { "gpt-oss 120B F16", "gpt-oss" },
        { "llama 8x7B Q4_0", "llama" },             { "nemotron_h_moe 31B.A3.5B Q8_0", "nemotron_h" }, { "qwen35moe ?B", "qwen35moe" },
        { "qwen3vlmoe 30B.A3B", "qwen3moe" },       { "mistral3 14B Q4_0", "llama" }, { "Llama 3.1 8B", "" }, { "gemma-4-26B", "" },
        { "frobnicate 8B Q4_0", "" },               { "llama", "" },                  { "", "" }, { "qwen2moe A2.7B", "qwen2moe" },
    };
    static const char *const families[][2] = {
        { "Qwen3-Coder-Next", "qwen3" }, { "qwen/Qwen3.5-9B", "qwen3.5" }, { "gemma-4-26B-A4B-it", "gemma4" }, { "GLM-4.7-Flash", "glm4.7" },
        { "llama-3.1-8b", "llama3.1" },  { "llama-7b", "llama" },          { "Mistral-Small-24B", "mistral" }, { "7b", "" },
        { "phi-4", "phi4" },             { "mistral-small3.2:24b", "mistral" },
    };
    static const struct {
        const char *model;
        double params;
        enum model_kind kind;
    } kinds[] = {
        { "Qwen3-Coder-Next", 80e9, KIND_MIXTURE }, { "qwen3-tuned", 40e9, KIND_EITHER }, { "qwen3-tuned", 9e9, KIND_UNKNOWN },
        { "gemma4 ?B", 25.23e9, KIND_EITHER },      { "gemma4 ?B", 12e9, KIND_UNKNOWN },  { "qwen35moe ?B", 50e9, KIND_MIXTURE },
        { "Llama-3-8B", 8e9, KIND_UNKNOWN },        { "gpt-oss ?B", 40e9, KIND_MIXTURE }, { "qwen3.5-9b", 9e9, KIND_UNKNOWN },
        { "Unheard-of-MoE", 9e9, KIND_MIXTURE },    { "gemma4 ?B", NAN, KIND_UNKNOWN },
    };
    char buf[64];
    for (size_t i = 0; i < ARRAY_LEN(labels); i++)
        if (label_arch(buf, sizeof buf, labels[i].label) != (*labels[i].arch != 0) || (*labels[i].arch && strcmp(buf, labels[i].arch) != 0))
            fail_msg("%s: %s", labels[i].label, buf);
    for (size_t i = 0; i < ARRAY_LEN(families); i++)
        assert_string_equal(model_family(buf, sizeof buf, families[i][0]), families[i][1]);
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        if (model_named_kind(kinds[i].model, kinds[i].params) != kinds[i].kind)
            fail_msg("%s of %g", kinds[i].model, kinds[i].params);
}

static void test_counts_in_names(void **state)
{
    (void)state;
    static const struct {
        const char *name, *one;
        int n;
    } cases[] = {
        { "2x RTX 3090", "RTX 3090", 2 },       { "4xH100 SXM", "H100 SXM", 4 },         { "8 x NVIDIA H200", "NVIDIA H200", 8 }, { "2\u00d7 L40S", "L40S", 2 },
        { "RTX 3090 x2", "RTX 3090", 2 },       { "RTX 3090 (x2)", "RTX 3090", 2 },      { "Dual RTX 3090", "RTX 3090", 2 },      { "1x L4", "L4", 1 },
        { "RTX 3090", "RTX 3090", 1 },          { "2x Xeon 8480", "2x Xeon 8480", 1 },   { "Dual EPYC 9654", "Dual EPYC 9654", 1 },
        { "Radeon gfx1151", "Radeon gfx1151", 1 }, { "W7900 Dual Slot", "W7900 Dual Slot", 1 }, { "2x", "2x", 1 }, { "x2", "x2", 1 }, { " x2", " x2", 1 }, { "(x2)", "(x2)", 1 },
        { "0x H100", "0x H100", 1 },            { "99999x H100", "99999x H100", 1 },     { "", "", 1 },                           { "4090", "4090", 1 },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char one[64];
        int n = -1;
        (void)hardware_one(one, sizeof one, cases[i].name, &n);
        if (n != cases[i].n || strcmp(one, cases[i].one) != 0)
            fail_msg("\"%s\": %d of \"%s\"", cases[i].name, n, one);
    }
}

static void test_sizes_in_names(void **state)
{
    (void)state;
    assert_true(model_active_params("Qwen3-30B-A3B-Instruct") == 3e9);
    assert_true(model_active_params("granite-3.1-3b-a800m") == 800e6);
    assert_true(model_active_params("Qwen/Qwen3.5-397B-A17B") == 17e9);
    assert_true(isnan(model_active_params("Llama-3.1-70B")));
    assert_true(isnan(model_active_params("LLaMA3B"))); /* a letter before it */
    assert_true(model_named_params("Llama-3.1-70B") == 70e9);
    assert_true(model_named_params("Mixtral-8x7B-v0.1") == 56e9);
    assert_true(model_named_params("Qwen2.5-0.5B") == 0.5e9);
    assert_true(model_named_experts("Mixtral-8x7B-v0.1") == 8 && model_named_experts("Foo-12x3B-A2B") == 12);
    assert_true(isnan(model_named_experts("Llama-3.1-70B")) && isnan(model_named_experts("x8x7B")));
    assert_true(isnan(model_named_params("phi-4")));
}

/* ---- several tables in one file -------------------------------------------------------------------------------------- */

static void test_tables(void **state)
{
    (void)state;
    static const char csv[] = "model_type,n_prompt,n_gen,avg_ts\n\"llama 8B F16\",512,0,100\nmodel_type,n_depth,n_prompt,n_gen,avg_ts\nllama 8B F16,64,0,16,50\n";
    static const char rates[] = "hardware,model,phase,tokens_per_s\nh,m,decode,5\nmodel,hardware,phase,tokens_per_s,batch\nm2,h2,prefill,7,2\n";
    static const char arrays[] = "[{\"model_type\":\"a\",\"n_gen\":1,\"n_prompt\":0,\"avg_ts\":1}]\n[{\"model_type\":\"b\",\"n_gen\":1,\"n_prompt\":0,\"avg_ts\":2},\n"
                                 "{\"model_type\":\"c]\",\"n_gen\":1,\"n_prompt\":0,\"avg_ts\":3}]\n";
    static const char md[] = "| model | test | t/s |\n| - | - | -: |\n| llama 8B F16 | tg8 | 1.0 \302\261 0.1 |\n\nbuild: abc1234 (5000)\n\n"
                             "| metric | value |\n|---|---|\n| watts | 300 |\n\n| model | fa | n_cpu_moe | test | t/s |\n| --- | -: | --: | --- | -: |\n"
                             "| llama 8B F16 | 1 | 8 | tg8 | 2.0 |\nggml_cuda_init: found\n| llama 8B F16 | 1 | 8 | tg16 | 3.0 |\n\nbuild: def1234 (6000)\n";
    struct measurements l;
    struct error err = { 0 };
    assert_ok(measure_parse(&l, "b.csv", csv, strlen(csv), NULL, &err), err);
    assert_true(l.n == 2 && l.row[1].prompt == 64 && l.row[1].value == 50 && l.row[1].line == 4);
    measure_free(&l);
    assert_ok(measure_parse(&l, "r.csv", rates, strlen(rates), NULL, &err), err);
    assert_true(l.n == 2 && l.row[1].batch == 2);
    assert_string_equal(l.row[0].model, "m");
    assert_string_equal(l.row[1].model, "m2");
    measure_free(&l);
    assert_ok(measure_parse(&l, "b.json", arrays, strlen(arrays), NULL, &err), err);
    assert_true(l.n == 3 && l.row[2].value == 3 && l.row[2].line == 3);
    measure_free(&l);
    assert_ok(measure_parse(&l, "b.md", md, strlen(md), NULL, &err), err);
    assert_true(l.n == 3 && l.row[2].value == 3 && l.row[0].build == 5000 && l.row[1].build == 6000);
    assert_true(!(l.row[0].tags & TAG_PARTIAL_OFFLOAD) && (l.row[1].tags & TAG_PARTIAL_OFFLOAD) && l.row[1].flash);
    measure_free(&l);
    assert_fails(measure_parse(&l, "b.csv", "model_type,n_prompt,n_gen,avg_ts\nx,1,0,1\nmodel_type,n_prompt,n_gen,avg_ts\nx,1,0\n", 77, NULL, &err), err,
                 "b.csv: line 4, column");
    assert_fails(measure_parse(&l, "b.json", "[{\"model_type\":\"a\",\"n_gen\":1,\"n_prompt\":0,\"avg_ts\":1}]\n[{\"model_type\": \"b\"}]\n", 75, NULL, &err), err,
                 "b.json: line 2, column");
}

/* A field that nothing reads is named; what leaves the figures as they are is not. */
static void test_unread_fields(void **state)
{
    (void)state;
    static const char json[] = "{\"model_type\":\"a\",\"n_gen\":0,\"n_prompt\":8,\"avg_ts\":1,\"embeddings\":true,\"poll\":50,\"samples_ts\":[1],\"no_op_offload\":0}\n";
    static const char md[] = "| model | embd | mmap | test | t/s |\n| - | - | - | - | -: |\n| llama 8B F16 | 1 | 0 | pp8 | 1.0 |\n";
    struct measurements l;
    struct error err = { 0 };
    assert_ok(measure_parse(&l, "b.json", json, strlen(json), NULL, &err), err);
    assert_string_equal(l.row[0].remark, "ignored: embeddings=true");
    measure_free(&l);
    assert_ok(measure_parse(&l, "b.md", md, strlen(md), NULL, &err), err);
    assert_string_equal(l.row[0].remark, "ignored: embd=1");
    measure_free(&l);
    static const char rates[] = "hardware,model,phase,tokens_per_s,draft\nh,m,decode,5,yes\n";
    assert_ok(measure_parse(&l, "r.csv", rates, strlen(rates), NULL, &err), err);
    assert_string_equal(l.note, "ignored columns: draft");
    measure_free(&l);
    assert_ok(measure_parse(&l, "r.csv", rates, 40, NULL, &err) == 0 ? -1 : 0, err); /* a header alone */
    static const char known[] = "id,hardware,model,phase,tokens_per_s,notes\n1,h,m,decode,5,\n";
    assert_ok(measure_parse(&l, "r.csv", known, strlen(known), NULL, &err), err);
    assert_string_equal(l.note, "");
    measure_free(&l);
}

static void test_batched_bench(void **state)
{
    (void)state;
    static const char md[] = "llama_batched_bench: n_kv_max = 8192, n_batch = 2048, n_ubatch = 256, flash_attn = 1, is_pp_shared = 0, n_gpu_layers = 99, n_threads = 8\n\n"
                             "|    PP |     TG |    B |   N_KV |   T_PP s | S_PP t/s |   T_TG s | S_TG t/s |      T s |    S t/s |\n"
                             "|-------|--------|------|--------|----------|----------|----------|----------|----------|----------|\n"
                             "|   128 |     64 |    1 |    192 |    0.034 |  3764.71 |    1.012 |   126.48 |    1.046 |   244.74 |\n"
                             "|   128 |     64 |    8 |   1536 |    0.120 |  8533.33 |    1.510 |   678.15 |    1.630 |  1256.44 |\n"
                             "|   128 |     64 |    4 |    384 |    0.020 |  6400.00 |    1.510 |   400.00 |    1.630 |  1256.44 |\n";
    static const char line[] = "{\"n_kv_max\": 2048, \"n_batch\": 2048, \"n_ubatch\": 512, \"flash_attn\": 0, \"is_pp_shared\": 0, \"n_gpu_layers\": 0, \"n_threads\": 8, \"pp\": 128, "
                               "\"tg\": 64, \"pl\": %s, \"n_kv\": 384, \"t_pp\": 0.2, \"speed_pp\": 547.4, \"t_tg\": 3.5, \"speed_tg\": 36.5, \"t\": 3.7, \"speed\": 68.4}\n";
    char text[512];
    const struct measure_context x = { .hardware = "rtx-4090", .model = "llama-3-8b" };
    struct measurements l;
    struct error err = { 0 };
    assert_ok(measure_parse(&l, "b.md", md, strlen(md), &x, &err), err);
    assert_true(l.n == 6 && l.file == FILE_BATCHED_BENCH);
    const struct measurement *p = &l.row[2], *d = &l.row[3];
    assert_true(p->phase == MEASURE_PREFILL && p->prompt == 128 && p->batch == 8 && p->value == 8533.33 && p->n_ubatch == 256);
    assert_true(d->phase == MEASURE_DECODE && d->prompt == 128 && d->batch == 8 && d->value == 678.15 && d->context == 160 && d->out == 64 && d->flash);
    assert_true(l.row[4].batch == 1 && l.row[5].batch == 4); /* 128 + 4 x 64 positions: one prompt for all */
    assert_string_equal(d->model, "llama-3-8b");
    measure_free(&l);
    static const char own[] = "| model    | type | threads | test  |  t/s | MBU |\n| - | - | -: | - | -: | -: |\n| llama-2l | F32  |  2 | pp16x2 | 131 | 1 % |\n\n"
                              "| model    | type | test | threads |  PP |  TG |   B | N_KV | S_PP t/s | S_TG t/s |\n| - | - | - | -: | -: | -: | -: | -: | -: | -: |\n"
                              "| llama-2l | F32  | pp16+tg8x2 | 2 | 16 | 8 | 2 | 48 | 131 | 50.2 |\n";
    assert_ok(measure_parse(&l, "b.md", own, strlen(own), NULL, &err), err);
    assert_true(l.n == 2 && l.row[1].value == 50.2 && l.row[1].n_threads == 2 && (l.row[1].tags & TAG_CPU));
    assert_string_equal(l.row[1].model, "llama-2l");
    assert_string_equal(l.row[1].quant, "F32");
    assert_string_equal(l.row[1].engine, "roofcast");
    measure_free(&l);
    snprintf(text, sizeof text, line, "2");
    assert_ok(measure_parse(&l, "b.jsonl", text, strlen(text), &x, &err), err);
    assert_true(l.n == 2 && l.row[1].batch == 2 && (l.row[1].tags & TAG_CPU) && l.row[1].n_threads == 8);
    measure_free(&l);
    snprintf(text, sizeof text, line, "0");
    assert_fails(measure_parse(&l, "b.jsonl", text, strlen(text), &x, &err), err, "b.jsonl: line 1, column 152: pl: expected a whole number from 1 to 1e+06");
    assert_fails(measure_parse(&l, "b.md", "| PP | TG | B | N_KV | S_PP t/s | S_TG t/s |\n|-|-|-|-|-|-|\n| 1 | 1 | x | 2 | 3 | 4 |\n", 85, &x, &err), err,
                 "b.md: line 3, column 11: B: expected a whole number from 1 to 1e+06, found \"x\"");
}

/* A step makes more tokens than one where drafts are accepted. */
static void test_drafts(void **state)
{
    (void)state;
#define SERVED "{\"completed\": 10, \"total_input_tokens\": 100, \"total_output_tokens\": 100, \"duration\": 1, \"mean_ttft_ms\": 5, \"mean_tpot_ms\": 10, \"max_concurrency\": 2"
    static const struct {
        const char *text;
        double tokens;
    } files[] = {
        { SERVED ", \"spec_decode_acceptance_length\": 2.9}", 2.9 },
        { SERVED ", \"backend\": \"sglang\", \"accept_length\": 3.25}", 3.25 },
        { SERVED ", \"accept_length\": null}", 1 },
        { SERVED ", \"spec_decode_num_drafts\": 100, \"spec_decode_accepted_tokens\": 150}", 2.5 },
        { SERVED "}", 1 },
    };
    struct measurements l;
    struct error err = { 0 };
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        assert_ok(measure_parse(&l, "b", files[i].text, strlen(files[i].text), NULL, &err), err);
        assert_true(l.row[1].metric == METRIC_TPOT && l.row[1].value == 0.01 && fabs(l.row[1].step_tokens - files[i].tokens) < 1e-12);
        assert_int_equal(strstr(l.row[1].remark, "speculative decoding") != NULL, files[i].tokens > 1);
        assert_true(l.row[0].step_tokens == 1 && !*l.row[0].remark);
        measure_free(&l);
    }
    const char *server = SERVED ", \"server_info\": {\"tp_size\": 4, \"model_path\": \"Qwen/Qwen3-32B\"}}";
    assert_ok(measure_parse(&l, "b", server, strlen(server), NULL, &err), err);
    assert_true(l.row[1].n_devices == 4 && l.row[1].decode.tp == 4);
    assert_string_equal(l.row[1].model, "Qwen/Qwen3-32B");
    measure_free(&l);
    const char *metadata = SERVED ", \"tp\": \"2\"}";
    const struct measure_context one = { .tp = 1 };
    assert_ok(measure_parse(&l, "b", metadata, strlen(metadata), NULL, &err), err);
    assert_int_equal(l.row[1].n_devices, 2);
    measure_free(&l);
    assert_ok(measure_parse(&l, "b", metadata, strlen(metadata), &one, &err), err);
    assert_int_equal(l.row[1].n_devices, 1);
    measure_free(&l);
#undef SERVED
}

static void test_clients(void **state)
{
    (void)state;
    static const char aiperf[] = "{\"request_throughput\": {\"unit\": \"requests/sec\", \"avg\": 2.5}, \"request_latency\": {\"unit\": \"s\", \"avg\": 2.94625}, "
                                 "\"time_to_first_token\": {\"unit\": \"ms\", \"avg\": 120.5}, \"inter_token_latency\": {\"unit\": \"%s\", \"avg\": 22.25}, "
                                 "\"output_sequence_length\": {\"unit\": \"tokens\", \"avg\": 128.0}, \"input_sequence_length\": {\"avg\": 1024.0}, \"input_config\": %s}";
    static const struct {
        const char *config;
        double users;
    } configs[] = {
        { "{\"endpoint\": {\"model_names\": [\"org/M-8B\"]}, \"loadgen\": {\"concurrency\": 8}}", 8 },
        { "{\"model_names\": [\"org/M-8B\"], \"perf_analyzer\": {\"stimulus\": {\"concurrency\": 4}}}", 4 },
        { "{\"endpoint\": {\"model_names\": [\"org/M-8B\"]}, \"phases\": [{\"name\": \"warmup\", \"concurrency\": 1}, {\"name\": \"profiling\", \"concurrency\": 16}]}", 16 },
        { "{\"model\": \"org/M-8B\"}", 7.365625 },
    };
    static const char guide[] = "{\"args\": {\"model\": \"org/M-8B\"}, \"benchmarks\": [{\"config\": {\"strategy\": {\"type_\": \"concurrent\", \"streams\": 8}}, \"metrics\": {"
                                "\"time_to_first_token_ms\": {\"successful\": {\"mean\": 100}, \"errored\": {\"mean\": 1}}, \"inter_token_latency_ms\": {\"successful\": {\"mean\": 20}}, "
                                "\"request_latency\": {\"successful\": {\"mean\": 2.64}}, \"prompt_token_count\": {\"successful\": {\"mean\": 512}}, "
                                "\"output_token_count\": {\"successful\": {\"mean\": 128}}, \"requests_per_second\": {\"successful\": {\"mean\": 3}}}},\n"
                                "{\"args\": {\"strategy\": {\"type_\": \"constant\"}}, \"metrics\": {\"time_to_first_token_ms\": {\"mean\": 50}, \"inter_token_latency_ms\": {\"mean\": 10}, "
                                "\"prompt_token_count\": {\"mean\": 512}, \"output_token_count\": {\"mean\": 128}, \"request_concurrency\": {\"mean\": 3.99}}}]}";
    char text[1024];
    struct measurements l;
    struct error err = { 0 };
    for (size_t i = 0; i < ARRAY_LEN(configs); i++) {
        snprintf(text, sizeof text, aiperf, "ms", configs[i].config);
        assert_ok(measure_parse(&l, "a.json", text, strlen(text), NULL, &err), err);
        assert_true(l.n == 2 && l.file == FILE_AIPERF && l.row[0].prompt == 1024 && l.row[0].out == 128);
        assert_true(fabs(l.row[0].value - 0.1205) < 1e-12 && fabs(l.row[1].value - 0.02225) < 1e-12 && fabs(l.row[0].concurrency - configs[i].users) < 1e-9);
        assert_string_equal(l.row[0].model, "org/M-8B");
        measure_free(&l);
    }
    snprintf(text, sizeof text, aiperf, "parsec", "{}");
    assert_fails(measure_parse(&l, "a.json", text, strlen(text), NULL, &err), err, "a.json: line 1, column 188: inter_token_latency: expected an object with avg in ms, found the unit parsec");
    assert_ok(measure_parse(&l, "g.json", guide, strlen(guide), NULL, &err), err);
    assert_true(l.n == 4 && l.file == FILE_GUIDELLM && l.row[0].concurrency == 8 && l.row[3].concurrency == 4);
    assert_true(l.row[0].value == 0.1 && l.row[1].value == 0.02 && l.row[3].value == 0.01 && l.row[3].line == 2);
    assert_string_equal(l.row[0].model, "org/M-8B");
    measure_free(&l);
    static const char short_of[] = "{\"benchmarks\": [{\"metrics\": {\"prompt_token_count\": {\"mean\": 512}}}]}";
    assert_fails(measure_parse(&l, "g.json", short_of, strlen(short_of), NULL, &err), err, "g.json: line 1, column 17: expected prompt_token_count and output_token_count");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tables), cmocka_unit_test(test_unread_fields), cmocka_unit_test(test_batched_bench), cmocka_unit_test(test_drafts), cmocka_unit_test(test_clients),
        cmocka_unit_test(test_csv),          cmocka_unit_test(test_csv_refuses), cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_throughput),   cmocka_unit_test(test_throughput_refuses), cmocka_unit_test(test_notes_of_attention),
        cmocka_unit_test(test_per_gpu),      cmocka_unit_test(test_throughput_takes), cmocka_unit_test(test_figures_of_csv), cmocka_unit_test(test_concurrency),
        cmocka_unit_test(test_llama_bench_sizes),
        cmocka_unit_test(test_ops),          cmocka_unit_test(test_serving),     cmocka_unit_test(test_llama_bench),
        cmocka_unit_test(test_llama_bench_refuses), cmocka_unit_test(test_llama_bench_versions),
        cmocka_unit_test(test_llama_bench_builds),
        cmocka_unit_test(test_llama_bench_contradictions),
        cmocka_unit_test(test_sql_comments),
        cmocka_unit_test(test_llama_bench_tests),
        cmocka_unit_test(test_dates),
        cmocka_unit_test(test_months),
        cmocka_unit_test(test_other_gpus),
        cmocka_unit_test(test_type_given),
        cmocka_unit_test(test_llama_bench_settings), cmocka_unit_test(test_cpu_topology), cmocka_unit_test(test_servers), cmocka_unit_test(test_unsaid), cmocka_unit_test(test_servers_refuse), cmocka_unit_test(test_hardware),
        cmocka_unit_test(test_long_texts),   cmocka_unit_test(test_run_places),   cmocka_unit_test(test_many_places),
        cmocka_unit_test(test_names),        cmocka_unit_test(test_families), cmocka_unit_test(test_counts_in_names), cmocka_unit_test(test_sizes_in_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
