/* Readers of traces: each format's values, refusals by line, and the shared traces' totals as awk counts them. */
#include "../test.h"
#include "serving/describe.h"
#include "serving/trace.h"
#include <math.h>
#include <time.h>

static struct trace_notes notes;

static int parse(struct serve_workload *w, const char *text, const struct trace_options *o, struct error *err)
{
    return trace_parse(w, &notes, "f", text, strlen(text), NULL, o, err);
}

/* "arrival(<parent)/in/out" of every request, times in ms. */
static const char *show(const struct serve_workload *w)
{
    static char s[2048];
    size_t n = 0;
    s[0] = '\0';
    for (size_t i = 0; i < w->n; i++) {
        n += (size_t)snprintf(s + n, sizeof s - n, "%s%.7g", i ? " " : "", (double)w->r[i].after_ps * 1e-9);
        if (w->r[i].parent != SERVE_NO_PARENT)
            n += (size_t)snprintf(s + n, sizeof s - n, "<%u", w->r[i].parent);
        n += (size_t)snprintf(s + n, sizeof s - n, "/%u/%u", w->r[i].n_in, w->r[i].n_out);
    }
    return s;
}

/* The identities of request i, "7-9 12". */
static const char *ids(const struct serve_workload *w, size_t i)
{
    static char s[512];
    size_t n = 0;
    s[0] = '\0';
    for (uint32_t k = 0; k < w->r[i].n_run; k++) {
        const struct token_run x = w->run[w->r[i].run0 + k];
        if (x.first >> 62)
            n += (size_t)snprintf(s + n, sizeof s - n, "%sown%llu+%u", k ? " " : "", (unsigned long long)(x.first & 0x7ffffff), x.n);
        else
            n += (size_t)snprintf(s + n, sizeof s - n, "%s%llu+%u", k ? " " : "", (unsigned long long)(x.first & 0xffffffff), x.n);
    }
    return s;
}

static void reads(const char *text, const char *format, const char *want)
{
    struct serve_workload w;
    struct error err;
    assert_ok(parse(&w, text, NULL, &err), err);
    assert_string_equal(notes.format, format);
    assert_string_equal(show(&w), want);
    serve_workload_free(&w);
}

static void refuses(const char *text, const char *why)
{
    struct serve_workload w;
    struct error err;
    assert_fails(parse(&w, text, NULL, &err), err, why);
    assert_int_equal(err.kind, ERROR_INPUT);
    assert_null(w.r);
}

static void test_azure(void **state)
{
    (void)state;
    reads("TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46.6805900,374,44\r\n2023-11-16 18:15:50.9951690,396,109", "azure",
          "0/374/44 4314.579/396/109");
    reads("TIMESTAMP,ContextTokens,GeneratedTokens\n2024-02-28 23:59:59.5+00:00,1,2\n\n2024-03-01 00:00:00+00:00,3,4\n", "azure",
          "0/1/2 8.64005e+07/3/4");
    refuses("TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46,374,44\n2023-11-16 18:15:45,3,4\n", "f:3: TIMESTAMP is 2023-11-16 18:15:45: expected ascending");
    refuses("TIMESTAMP,ContextTokens,GeneratedTokens\n2023-13-16 18:15:46,374,44\n", "f:2: TIMESTAMP is 2023-13-16 18:15:46: expected a time such as");
    refuses("TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46,-3,44\n", "f:2: ContextTokens is -3: expected 1 to");
    refuses("TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46,3,\n", "f:2: no GeneratedTokens");
    refuses("TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46,3,NaN\n", "f:2: GeneratedTokens is NaN");
    refuses("TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46,3,99999999999\n", "GeneratedTokens is 99999999999");
    refuses("TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46,3\n", "f:2: 2 fields: expected 3");
    refuses("TIMESTAMP,ContextTokens,GeneratedTokens\n", "f: no requests");
    refuses("", "an empty file");
    refuses("a,b\n1,2\n", "no trace of requests: it begins with a b; known by its columns or keys: agentic (conv agent");
}

static void test_burstgpt(void **state)
{
    (void)state;
    const char *head = "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n";
    char text[512];
    snprintf(text, sizeof text, "%s5,ChatGPT,472,18,490,Conversation log\n45,GPT-4,300,0,300,API log\n118.5,GPT-4,417,276,693,\"a, \"\"b\"\", c\"\n", head);
    reads(text, "burstgpt", "0/472/18 113500/417/276");
    assert_int_equal(notes.n_failed, 1);
    assert_int_equal(notes.n_row, 3);
    snprintf(text, sizeof text, "%s5,ChatGPT,472,18,490,x\n4,GPT-4,300,1,300,x\n", head);
    refuses(text, "f:3: Timestamp is 4: expected ascending times: at least 5");
    snprintf(text, sizeof text, "%s5,ChatGPT,472,0,490,x\n", head);
    refuses(text, "f: no requests: of 1, 1 have no output");
}

static void test_mooncake(void **state)
{
    struct serve_workload w;
    struct error err;
    (void)state;
    /* 1100 tokens: two full chunks; the third identity is that of a partial one. The second request continues the first: its chunks 7
     * and 8 hold the end of the first's prompt and its output. The third shares only the first chunk. */
    const char *text = "{\"timestamp\": 0, \"input_length\": 1100, \"output_length\": 500, \"hash_ids\": [1, 2, 3]}\n"
                       "{\"timestamp\": 2500, \"input_length\": 2100, \"output_length\": 5, \"hash_ids\": [1, 2, 7, 8, 9]}\n"
                       "{\"timestamp\": 2500, \"input_length\": 600, \"output_length\": 5, \"hash_ids\": [1, 4]}\n";
    assert_ok(parse(&w, text, NULL, &err), err);
    assert_string_equal(notes.format, "timed");
    assert_string_equal(show(&w), "0/1100/500 2500/2100/5 2500/600/5");
    assert_int_equal(w.run_tokens, 512);
    assert_int_equal(w.r[0].end, SERVE_END_STOP);
    assert_string_equal(ids(&w, 0), "1+2 7+2");
    assert_string_equal(ids(&w, 1), "1+2 7+2");
    assert_string_equal(ids(&w, 2), "1+1");
    serve_workload_free(&w);
    /* 1590 tokens cannot hold 1600: not the next turn. A chunk that two requests had before is a shared prefix. */
    assert_ok(parse(&w, "{\"timestamp\": 0, \"input_length\": 1100, \"output_length\": 500, \"hash_ids\": [1, 2, 3]}\n"
                        "{\"timestamp\": 1, \"input_length\": 1100, \"output_length\": 500, \"hash_ids\": [1, 2, 4]}\n"
                        "{\"timestamp\": 1, \"input_length\": 1590, \"output_length\": 500, \"hash_ids\": [1, 2, 7, 6]}\n"
                        "{\"timestamp\": 2, \"input_length\": 1700, \"output_length\": 500, \"hash_ids\": [1, 2, 8, 9]}\n"
                        "{\"timestamp\": 3, \"input_length\": 2700, \"output_length\": 500, \"hash_ids\": [1, 5, 6, 9, 10, 11]}\n", NULL, &err), err);
    assert_string_equal(ids(&w, 0), "1+2 8+1");
    assert_string_equal(ids(&w, 1), "1+2");
    assert_string_equal(ids(&w, 2), "1+2 7+1");
    assert_string_equal(ids(&w, 3), "1+2 8+1");
    serve_workload_free(&w);
    /* The second is too short to hold the first's output; the third is long enough, though its third chunk is not new. */
    assert_ok(parse(&w, "{\"timestamp\": 0, \"input_length\": 1100, \"output_length\": 2000, \"hash_ids\": [1, 2, 3]}\n"
                        "{\"timestamp\": 1, \"input_length\": 2100, \"output_length\": 5, \"hash_ids\": [1, 2, 9, 20, 21]}\n"
                        "{\"timestamp\": 2, \"input_length\": 4096, \"output_length\": 5, \"hash_ids\": [1, 2, 9, 30, 31, 32, 33, 34]}\n", NULL, &err), err);
    assert_string_equal(ids(&w, 0), "1+2 9+1 30+4");
    serve_workload_free(&w);
    /* A file that leaves out chunks of the prompt: nothing is known of the output. */
    const struct trace_options mooncake = { .hash_tokens = 512 };
    assert_ok(parse(&w, "{\"timestamp\": 0, \"input_length\": 1100, \"output_length\": 500, \"hash_ids\": [1]}\n"
                        "{\"timestamp\": 2, \"input_length\": 4096, \"output_length\": 5, \"hash_ids\": [1, 2, 9, 30, 31, 32, 33, 34]}\n", &mooncake, &err), err);
    assert_string_equal(ids(&w, 0), "1+1");
    serve_workload_free(&w);
    const struct trace_options replay = { .flags = TRACE_NO_OUTPUTS };
    assert_ok(parse(&w, text, &replay, &err), err);
    assert_string_equal(ids(&w, 0), "1+2");
    serve_workload_free(&w);
    /* Chunks of 16, seconds. */
    assert_ok(parse(&w, "{\"timestamp\":0.5,\"input_length\":40,\"output_length\":5,\"hash_ids\":[8,9,4],\"type\":\"x\"}"
                        "{\"timestamp\":1.5,\"input_length\":32,\"output_length\":1,\"hash_ids\":[8,9]}", NULL, &err), err);
    assert_string_equal(show(&w), "0/40/5 1000/32/1");
    assert_int_equal(w.run_tokens, 16);
    assert_string_equal(ids(&w, 0), "8+2");
    serve_workload_free(&w);
    reads("timestamp,input_length,output_length,hash_ids\n1,40,5,\"[8, 9, 4]\"\n2,10,3,\n", "timed-csv", "0/40/5 1000/10/3");
    refuses("{\"timestamp\":0,\"input_length\":40,\"output_length\":5,\"hash_ids\":[8,-9,4]}", "f:1: hash_ids is [8,-9,4]: expected whole numbers");
    refuses("{\"timestamp\":0,\"input_length\":40,\"output_length\":5,\"hash_ids\":[1,2,3,4,5]}", "f:1: hash_ids has 5 identities: expected at most");
    refuses("{\"timestamp\":0,\"input_length\":40,\"output_length\":5}\n{\"timestamp\":NaN,\"input_length\":40,\"output_length\":5}",
            "f:2: timestamp is NaN: expected a number");
    refuses("{\"timestamp\":0,\"input_length\":40,\"output_length\":5}\n{\"timestamp\":1,\"input_length\":40", "f:2: the text ends within an object");
    refuses("{\"timestamp\":0,\"input_length\":40,\"output_length\":5}\n{\"timestamp\":1e30,\"input_length\":40,\"output_length\":1}",
            "f:2: timestamp: 1e+27 s: expected at most");
    refuses("{\"timestamp\":0,\"input_length\":40,\"input_length\":40,\"output_length\":5}", "f:1: input_length stands twice");
}

static void test_agentic(void **state)
{
    struct serve_workload w;
    struct error err;
    (void)state;
    const char *text = "conv,agent,idx,t_s,type,model,in,out,api_s,think_s,keep_blocks,new_runs\n"
                       "c1,0,0,0.0,n,0,200,100,5.0,0.0,0,1-3\n"
                       "c1,0,1,7.0,agent,,1,,,,,\n"
                       "c1,1,0,0.0,n,1,130,9,1.0,0.0,0,8 9\n"
                       "c1,0,2,20.0,n,0,330,0,5.0,15.0,3,4-5\n"
                       "c2,0,0,0.0,n,0,64,10,1.0,0.0,0,1\n"
                       "c2,0,1,9.0,n,0,128,10,1.0,8.0,1,2\n";
    assert_ok(parse(&w, text, NULL, &err), err);
    assert_string_equal(notes.format, "agentic");
    assert_false(notes.timed);
    assert_int_equal(notes.n_raised, 1);
    /* The other agent begins 2 s after the end of the first request. */
    assert_string_equal(show(&w), "0/200/100 2000<0/130/9 15000<0/330/1 0/64/10 8000<3/128/10");
    assert_int_equal(w.run_tokens, 64);
    assert_string_equal(ids(&w, 0), "1+5"); /* 300 tokens; the second turn tells what the output was */
    assert_string_equal(ids(&w, 1), "8+2");
    assert_string_equal(ids(&w, 2), "1+5");
    assert_int_not_equal(w.run[w.r[3].run0].first, w.run[w.r[0].run0].first); /* numbers count within a conversation */
    serve_workload_free(&w);
    const char *conv = "conv,scope,block_size,tool_tokens\nc1,local,64,64\nc2,local,64,64\n";
    const struct trace_options tools = { .flags = TRACE_SHARED_TOOLS, .companion = conv, .companion_size = strlen(conv) };
    assert_ok(parse(&w, text, &tools, &err), err);
    assert_int_equal(w.run[w.r[3].run0].first, w.run[w.r[0].run0].first);
    serve_workload_free(&w);
    refuses("conv,agent,type,in,out,keep_blocks,new_runs,think_s\nc,0,n,64,,0,1,0\n", "f:2: no out"); /* a request, not another agent's start */
    refuses("conv,agent,in,out,keep_blocks,new_runs,think_s\nc,0,64,1,1,,0\n", "f:2: keep_blocks is 1: expected at most the 0 chunks");
    refuses("conv,agent,in,out,keep_blocks,new_runs,think_s\nc,0,64,1,0,1-2,0\n", "f:2: keep_blocks and new_runs are more than 1 chunks");
    refuses("conv,agent,in,out,keep_blocks,new_runs,think_s\nc,0,64,1,0,3-2,0\n", "f:2: new_runs is 3-2: expected runs");
    refuses("conv,agent,in,out,keep_blocks,new_runs,think_s\nc,0,64,1,0,1,0\nc,0,64,1,1,,-1\n", "f:3: think_s is -1");
}

static void test_aiperf(void **state)
{
    struct serve_workload w;
    struct error err;
    (void)state;
    assert_ok(parse(&w, "{\"session_id\":\"a\",\"input_length\":1100,\"output_length\":100,\"hash_ids\":[0,1,2],\"timestamp\":10.0,\"group_id\":4}\n"
                        "{\"session_id\":\"b\",\"input_length\":1030,\"output_length\":10,\"hash_ids\":[0,1,5],\"timestamp\":30.0}\n"
                        "{\"session_id\":\"a\",\"input_length\":50,\"output_length\":20,\"hash_ids\":[7],\"delay\":1234.5}\n", NULL, &err), err);
    assert_string_equal(notes.format, "aiperf");
    assert_string_equal(show(&w), "0/1100/100 20/1030/10 1234.5<0/1250/20");
    assert_string_equal(ids(&w, 0), "0+2 own2+1"); /* 1200 tokens: the third chunk is the session's own */
    assert_string_equal(ids(&w, 2), "0+2 own2+1");
    struct serve_workload_description d;
    assert_ok(serve_workload_describe(&d, &w, 16, &err), err);
    assert_true(d.hit_tok == 1024 + 1184); /* b: two chunks; a's second turn: all that the first computed, its output too */
    serve_workload_free(&w);
    refuses("{\"session_id\":\"a\",\"input_length\":5,\"output_length\":1,\"timestamp\":0}\n{\"session_id\":\"a\",\"input_length\":5,\"output_length\":1}",
            "f:2: no delay");
    refuses("{\"session_id\":\"a\",\"input_length\":5,\"output_length\":1,\"timestamp\":3}\n"
            "{\"session_id\":\"b\",\"input_length\":5,\"output_length\":1}", "f:2: some sessions have a timestamp");
}

static void test_texts(void **state)
{
    struct serve_workload w;
    struct error err;
    (void)state;
    reads("{\"prompt\": \"12345678\"}\n{\"prompt\": \"\\u00e4\\ud83d\\ude00\\n\\\"xx\", \"output_tokens\": 7}\n", "vllm-custom", "0/2/256 0/2/7");
    assert_true(notes.estimated);
    refuses("{\"prompt\": \"\"}", "f:1: the prompt's length is 0");
    refuses("{\"prompt\": [1]}", "f:1: prompt is no text");
    const char *gpt = "[{\"id\": \"a\", \"conversations\": [{\"from\": \"human\", \"value\": \"0123456789abcdef\"},\n"
                      "  {\"from\": \"gpt\", \"value\": \"0123456789abcdef01234567\"}, {\"value\": \"x\"}]},\n"
                      " {\"id\": \"b\", \"conversations\": [{\"value\": \"too short\"}, {\"value\": \"no\"}]},\n {\"conversations\": []}]";
    reads(gpt, "sharegpt", "0/4/6");
    assert_int_equal(notes.n_filtered, 2);
    assert_int_equal(notes.n_row, 3);
    const struct trace_options all = { .flags = TRACE_UNFILTERED };
    assert_ok(parse(&w, gpt, &all, &err), err);
    assert_string_equal(show(&w), "0/4/6 0/3/1");
    serve_workload_free(&w);
    char *large = malloc(6000);
    assert_non_null(large);
    memset(large, 'x', 6000);
    const int at = sprintf(large, "[{\"conversations\": [{\"value\": \"01234567890123456\"}, {\"value\": \"01234567890123456\"}]},"
                                  "{\"conversations\": [{\"value\": \"");
    large[at] = 'x';
    strcpy(large + 5000, "\"}, {\"value\": \"01234567890123456\"}]}]"); /* a prompt of more than 1024 tokens */
    reads(large, "sharegpt", "0/5/5");
    assert_int_equal(notes.n_filtered, 1);
    free(large);
    refuses("[{\"conversations\": [{\"value\": \"01234567\"}, {\"from\": 1}]}]", "f:1: a turn of conversations: no \"value\"");
    refuses("[{\"conversations\": 3}]", "f:1: conversations is 3: expected an array");
    refuses("[{\"conversations\": []}", "f:1: the text ends within an array");
}

static size_t words(void *ctx, const char *text, size_t n, struct error *err)
{
    size_t k = 1;
    (void)err;
    snprintf(ctx, 64, "%.*s", (int)n, text);
    for (size_t i = 0; i < n; i++)
        k += text[i] == ' ';
    return k;
}

static void test_tokenizer(void **state)
{
    struct serve_workload w;
    struct error err;
    char seen[64];
    const struct trace_options o = { .count = words, .count_ctx = seen };
    (void)state;
    assert_ok(parse(&w, "{\"prompt\": \"one two\\u0020\\u00e4\\u20AC\\uD83D\\ude00\\ud800\\t\"}", &o, &err), err);
    assert_string_equal(seen, "one two \303\244\342\202\254\360\237\230\200?\t");
    assert_string_equal(show(&w), "0/3/256");
    assert_false(notes.estimated);
    serve_workload_free(&w);
}

static void test_results(void **state)
{
    (void)state;
    reads("{\"date\": \"x\", \"input_lens\": [10, 20, 30], \"output_lens\": [1, 0, 3], \"start_times\": [100.5, 100.0, 100.25], \"itls\": [[0.1], [], [1]]}",
          "vllm-result", "0/30/3 250/10/1");
    assert_int_equal(notes.n_failed, 1);
    assert_true(notes.timed);
    reads("{\"input_lens\": [10], \"output_lens\": [1]}", "vllm-result", "0/10/1");
    assert_false(notes.timed);
    refuses("{\"input_lens\": [10, 11], \"output_lens\": [1]}", "request 2: input_lens, output_lens and start_times differ in length");
    refuses("{\"input_lens\": [10], \"output_lens\": [\"x\"]}", "output_lens is \"x\": expected 0 to");
    reads("{\"request_id\": \"b\", \"input_toks\": 5, \"output_toks\": 6, \"arrival_time\": 1787267980.5}\n"
          "{\"request_id\": \"c\", \"input_toks\": 7, \"output_toks\": 8, \"arrival_time\": 1787267981.0}\n", "servingsim", "0/5/6 500/7/8");
}

static void test_plain(void **state)
{
    struct serve_workload w;
    struct error err;
    (void)state;
    assert_ok(parse(&w, "\xef\xbb\xbfin, out, arrival_s, prefix, prefix_tokens, note\n100, 5, 1.5, 3, 40, x\n200.0,6,1.5,3,32,\n50,1,2,,,\n", NULL, &err), err);
    assert_string_equal(show(&w), "1500/100/5 1500/200/6 2000/50/1");
    assert_int_equal(w.r[0].n_run, 1);
    assert_int_equal(w.run[w.r[1].run0].first, w.run[w.r[0].run0].first);
    assert_int_equal(w.run[w.r[0].run0].n, 2);
    assert_int_equal(w.r[2].n_run, 0);
    serve_workload_free(&w);
    reads("in,out\n1,2\n", "plain", "0/1/2");
    refuses("arrival_s,in,out\n2,1,1\n1,1,1\n", "f:3: arrival_s is 1: expected ascending times: at least 2");
    refuses("arrival_s,in,out\n-2,1,1\n", "f:2: arrival_s is -2: expected a number of at least 0");
    refuses("arrival_s,in,out\n2,1,1\n,1,1\n", "f:3: some requests have an arrival_s");
    refuses("in,out,prefix,prefix_tokens\n5,1,1,6\n", "f:2: prefix_tokens is 6: expected at most the prompt's 5");
    refuses("in,in,out\n1,1,1\n", "f:1: a column stands twice");
    refuses("in,out\n1.5,1\n", "f:2: in is 1.5: expected 1 to");
    refuses("in,out\n\"1,1\n", "f:2: a quoted field without its end");
}

static void total(const char *file, const char *format, size_t n, uint64_t n_in, uint64_t n_out)
{
    char path[4300];
    struct serve_workload w;
    struct error err;
    snprintf(path, sizeof path, "%s/data/%s", shared_dir(), file);
    assert_ok(trace_load(&w, &notes, path, NULL, NULL, &err), err);
    const struct serve_workload_sum s = serve_workload_sum(&w);
    assert_string_equal(notes.format, format);
    assert_int_equal(w.n, n);
    assert_int_equal(s.n_in, n_in);
    assert_int_equal(s.n_out, n_out);
    serve_workload_free(&w);
}

/* awk -F, 'NR>1{n++; i+=$2; o+=$3} END{print n,i,o}', and likewise of the others. */
static void test_shared(void **state)
{
    (void)state;
    if (!shared_dir()) {
        print_message("no shared data: the totals of public traces are not checked\n");
        skip();
    }
    total("traces/AzureLLMInferenceTrace_conv.csv", "azure", 19366, 22361870, 4088665);
    total("traces/AzureLLMInferenceTrace_code.csv", "azure", 8819, 18059974, 245896);
    total("traces/mooncake_conversation_trace.jsonl", "timed", 12031, 144793823, 4122048);
    total("traces/agentic_sessions.csv", "agentic", 4029, 454994755, 1607606 + 1); /* one was stopped before its first token */
    assert_int_equal(notes.n_raised, 1);
    total("measurements/vllm_rtx4090_llama31_8b/requests.jsonl", "servingsim", 300, 257239, 195753);
}

/* 95.0369 % of the chunks of an agent's request are those of the one before (awk); an infinite cache holds some of other agents, too,
 * and the outputs, which these chunks are counted with. */
static void test_agentic_sharing(void **state)
{
    char path[4300];
    struct serve_workload w;
    struct error err;
    struct serve_workload_description d;
    (void)state;
    if (!shared_dir()) {
        print_message("no shared data: the sharing of the agentic trace is not checked\n");
        skip();
    }
    snprintf(path, sizeof path, "%s/data/traces/agentic_sessions.csv", shared_dir());
    const struct trace_options replay = { .flags = TRACE_NO_OUTPUTS };
    assert_ok(trace_load(&w, &notes, path, NULL, &replay, &err), err);
    assert_ok(serve_workload_describe(&d, &w, 64, &err), err);
    assert_true(d.hit_share > 0.9495 && d.hit_share < 0.952);
    assert_int_equal(d.n_root, 57);
    const double without = d.hit_share;
    serve_workload_free(&w);
    assert_ok(trace_load(&w, &notes, path, NULL, NULL, &err), err);
    assert_ok(serve_workload_describe(&d, &w, 64, &err), err);
    assert_true(d.hit_share > without && d.hit_share < without + 1607606.0 / 454994755);
    serve_workload_free(&w);
}

/* A million lines, in a time that no slow machine exceeds. */
static void test_large(void **state)
{
    enum { N = 1000000 };
    struct serve_workload w;
    struct error err;
    size_t n = 0;
    char *text = malloc(N * 48 + 100);
    (void)state;
    assert_non_null(text);
    n += (size_t)sprintf(text, "TIMESTAMP,ContextTokens,GeneratedTokens\n");
    for (int i = 0; i < N; i++)
        n += (size_t)sprintf(text + n, "2023-11-%02d %02d:%02d:%02d.%07d,%d,%d\n", 1 + i / 86400, i / 3600 % 24, i / 60 % 60, i % 60, i % 9999999,
                             1 + i % 5000, 1 + i % 300);
    const clock_t begin = clock();
    assert_ok(trace_parse(&w, &notes, "f", text, n, NULL, NULL, &err), err);
    const double s = (double)(clock() - begin) / CLOCKS_PER_SEC;
    print_message("%d lines of Azure's form: %.3f s, %zu bytes a request\n", N, s, sizeof *w.r + sizeof(uint32_t));
    assert_int_equal(w.n, N);
    assert_true(s < 10);
    assert_true(sizeof *w.r + sizeof(uint32_t) <= 64);
    serve_workload_free(&w);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_azure),   cmocka_unit_test(test_burstgpt), cmocka_unit_test(test_mooncake),
        cmocka_unit_test(test_agentic), cmocka_unit_test(test_aiperf),   cmocka_unit_test(test_texts),
        cmocka_unit_test(test_tokenizer), cmocka_unit_test(test_results), cmocka_unit_test(test_plain),
        cmocka_unit_test(test_shared),  cmocka_unit_test(test_agentic_sharing), cmocka_unit_test(test_large),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
