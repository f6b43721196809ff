/* llama-bench's options without a counterpart: accepted with the value that describes roofcast, refused with a reason otherwise, so
 * that a pasted command line works or explains the difference. */
#include "cli/bench_foreign.h"
#include "bench/bench.h"
#include <string.h>

/* accepted: values, each between blanks, that describe what roofcast does; NULL: none. */
static const struct {
    const char *name, *accepted, *why;
} foreign[] = {
    [FOREIGN_GPU_LAYERS] = { "-ngl", " 0 ", "the engine runs on the CPU; `roofcast predict --hw` predicts a GPU" },
    [FOREIGN_CPU_MOE] = { "-ncmoe", " 0 ", "there is no GPU to keep experts off" },
    [FOREIGN_SPLIT_MODE] = { "-sm", " none ", "there is no GPU to split over" },
    [FOREIGN_MAIN_GPU] = { "-mg", " 0 ", "there is no GPU" },
    [FOREIGN_NO_KV_OFFLOAD] = { "-nkvo", " 0 1 ", "" },
    [FOREIGN_FLASH_ATTN] = { "-fa", " 1 on auto ", "attention never writes its scores to memory, as with -fa 1" },
    [FOREIGN_DEVICE] = { "-dev", " none ", "the engine runs on the CPU" },
    [FOREIGN_MMAP] = { "-mmp", " 0 ", "weights are packed at load; --no-repack uses the file's layout" },
    [FOREIGN_DIRECT_IO] = { "-dio", " 0 ", "files are mapped" },
    [FOREIGN_EMBEDDINGS] = { "-embd", " 0 ", "decode computes logits" },
    [FOREIGN_TENSOR_SPLIT] = { "-ts", " 0 ", "there is no GPU to split over" },
    [FOREIGN_OVERRIDE] = { "-ot", NULL, "all tensors are in the memory of the CPU" },
    [FOREIGN_NO_OP_OFFLOAD] = { "-nopo", " 0 1 ", "" },
    [FOREIGN_CPU_MASK] = { "-C", NULL, "--cpus 0-3,8 pins threads" },
    [FOREIGN_CPU_STRICT] = { "--cpu-strict", " 1 ", "threads are pinned, one to a CPU (--cpus)" },
    [FOREIGN_POLL] = { "--poll", NULL, "waiting threads spin briefly, then sleep" },
    [FOREIGN_PRIO] = { "--prio", " 0 ", "start roofcast with nice" },
    [FOREIGN_RPC] = { "--rpc", NULL, "models run on this machine" },
    [FOREIGN_HF_REPO] = { "-hf", NULL, "nothing is downloaded; -m FILE.gguf" },
    [FOREIGN_FIT_TARGET] = { "-fitt", NULL, "there is no GPU to fit" },
    [FOREIGN_FIT_CONTEXT] = { "-fitc", NULL, "there is no GPU to fit" },
    [FOREIGN_LIST_DEVICES] = { "--list-devices", NULL, "use `roofcast list hw` and `roofcast doctor`" },
    [FOREIGN_NO_HOST] = { "--no-host", NULL, "there is no GPU whose host buffers could be left out" },
};

int bench_foreign_option(int key, const char *arg, struct error *err)
{
    const int i = key - CLI_OPT_FOREIGN;
    char word[64];
    if (i < 0 || i >= (int)ARRAY_LEN(foreign))
        return CLI_UNKNOWN;
    snprintf(word, sizeof word, " %.60s ", arg ? arg : "");
    if (arg && foreign[i].accepted && strstr(foreign[i].accepted, word))
        return 0;
    return error_set(err, ERROR_USAGE, "%s%s%.40s: not in roofcast: %s%s", foreign[i].name, arg ? " " : "", arg ? arg : "", foreign[i].why,
                     foreign[i].accepted && !*foreign[i].why ? "expected 0 or 1" : "");
}
