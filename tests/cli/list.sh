#!/bin/sh
# roofcast list: every list in every format, exact facts, and what it says about what is missing.
. "${top_srcdir:?}/tests/cli/lib.sh"

run list models &&
    has '^llama-3.1-8b  *llama  *8.03 G  *32 ' && has '^stories15m '
ok $? "models: names, parameters, layers"
run list models -o csv &&
    head -n 1 "$tmp/out" | grep -q '^name,arch,n_params,n_layer,' &&
    has '^llama-2-7b,llama,6738415616,32,4096,32,32,11008,32000,4096,false,models/llama-2-7b.json'
ok $? "models -o csv: raw values"
run list hw &&
    has '^h100-sxm  *NVIDIA H100 SXM5  *gpu  *85.9 GB  *3.35 TB/s  *989 TFLOP/s  *fp16' && ! has '^this '
ok $? "hw: memory, bandwidth, best peak"
cat >"$tmp/this.json" <<'END'
{"schema": "roofcast.hwprofile", "version": 1, "name": "Test host", "kind": "cpu",
 "spec": {"memory_bandwidth": "100 GB/s", "peaks": {"fp32": "1 TFLOP/s"}},
 "ceilings": [{"name": "read DRAM 2t", "kind": "bandwidth", "level": "DRAM", "n_threads": 2, "value": 4e10,
               "unit": "B/s", "ci_lo": 3.9e10, "ci_hi": 4.1e10, "n_samples": 5}]}
END
run list hw &&
    has '^this  *Test host  *cpu  *-  *40.0 GB/s  *1.00 TFLOP/s  *fp32  *1$'
ok $? "hw: this machine's profile, measured bandwidth before the datasheet's, unknown memory is -"
cp "$tmp/out" "$tmp/hw"
sed -n 's/^\(This machine\|[AGCN]PU, [A-Za-z]*\)$/\1/p' "$tmp/hw" >"$tmp/groups"
head -n 3 "$tmp/groups" | tr '\n' ';' >"$tmp/out"
has '^This machine;GPU, AMD;GPU, Intel;$' && [ "$(sort -u "$tmp/groups" | wc -l)" -eq "$(wc -l <"$tmp/groups")" ]
ok $? "hw: this machine, then kinds and their vendors, each group once"
run list hw nvidia --min-memory 80G --min-bandwidth 3T --sort bandwidth -o csv &&
    cells bandwidth_bytes_s >"$tmp/bw" && cells memory_bytes >"$tmp/mem" && cells vendor >"$tmp/vendor" && sort -rn "$tmp/bw" | cmp -s - "$tmp/bw" &&
    has '^h100-sxm,' && ! has '^rtx-' && ! has '^a100' && ! has '^mi300x' && [ "$(sort -u "$tmp/vendor")" = NVIDIA ] &&
    [ "$(awk '$1 < 8e10' "$tmp/mem" | wc -l)" -eq 0 ] && [ "$(awk '$1 < 3e12' "$tmp/bw" | wc -l)" -eq 0 ]
ok $? "hw: a word, at least so much memory and bandwidth, sorted"
run list hw --kind npu -o csv && [ "$(cells kind | sort -u)" = npu ] && has '^tpu-v5e,'
ok $? "hw --kind"
run list hw --sort name -o csv && cells id >"$tmp/ids" && LC_ALL=C sort -f "$tmp/ids" | cmp -s - "$tmp/ids" && [ "$(wc -l <"$tmp/ids")" -ge 90 ]
ok $? "hw --sort name: ninety machines and more"
run list hw --sort memory && sed -n 3p "$tmp/out" | grep -q '^apple-m3-ultra .* 550 GB ' && tail -n 1 "$tmp/out" | grep -q ' cpu  *-  ' &&
    [ "$(grep -c '^hardware ' "$tmp/out")" -eq 1 ]
ok $? "hw --sort memory: unknown memory comes last"
run list hw 'm3 ULTRA' && has '^apple-m3-ultra ' && [ "$(grep -c '^apple' "$tmp/out")" -eq 1 ] && run list hw --filter 'geforce 4090' && has '^rtx-4090 '
ok $? "hw: words of names, whatever their case"
run list hw h100-sxm -o json && has '"link": "NVLink4"' && has '"link_bytes_s": 450000000000' && has '"link_devices": 8' && has '"H100 80GB HBM3"'
ok $? "hw -o json: the fastest link, the other names"
run list models --arch llama --min-params 7B --max-params 9B -o csv && has '^llama-3-8b,' && ! has '^llama-3-70b,' && ! has '^stories15m' &&
    [ "$(cells arch | sort -u)" = llama ] && [ "$(cells n_params | awk '$1 < 7e9 || $1 > 9e9' | wc -l)" -eq 0 ]
ok $? "models: architecture, parameters from and to"
run list models --sort params -o csv && cells n_params >"$tmp/params" && sort -rn "$tmp/params" | cmp -s - "$tmp/params"
ok $? "models --sort params"
run list models stories15 && has '^llama$' && has '^stories15m ' && ! has '^stories42m '
ok $? "models: headed by architecture, chosen by a word"
run list types &&
    has '^Q4_K  *12  *256  *144  *4.50  *yes  *yes' && has '^IQ1_M .* no  *no'
ok $? "types: blocks, bits, what runs"
has '^AWQ  *-  *-  *-  *4.16  *no  *no  *W4A16: INT4, an F16 scale' && has '^FP8_DS_MLA .* KV cache$'
ok $? "types that are only priced"
run list isa &&
    has '^ref  *yes' && test "$(grep -c ' yes  *yes ' "$tmp/out")" -eq 1
ok $? "isa: ref is there, one is the default"
run list counters &&
    has '^null  *yes  *sw_bytes  *yes  *-' && has '^null  *yes  *cycles  *no  *no counter backend' &&
    has '^papi ' && has '^likwid '
ok $? "counters: what each backend counts, and why not"
run list archs -o csv && has '^deepseek2,"deepseek_v2, deepseek_v3, kimi_k2",true,false' && has '^llama,"llama, mistral, mixtral",true,true,false' &&
    has '^gpt2,gpt2,false,false,true' && [ "$(wc -l <"$tmp/out")" -ge 12 ]
ok $? "archs: every architecture, and the configs that become it"
run list chat &&
    has '^llama3  *Llama 3  *turn$' && has '^gemma  *.*  *none$' && has '^mistral-v3  *.*  *last user$'
ok $? "chat: templates, of which models, where a system message goes"
run list &&
    has '^Models (' && has '^Hardware (' && has '^Tensor types (' && has '^Kernels (' && has '^Counters (' && has '^Chat templates ('
ok $? "everything, each list headed"
run list -o md &&
    has '^## Models (' && has '^| ref '
ok $? "everything as markdown"
run list -o jsonl &&
    has '"schema":"roofcast.list.isa","version":1,"isa":"ref"' && ! grep -qv '^{' "$tmp/out"
ok $? "everything as rows"

refused 2 'list models -o csv' list -o csv
refused 2 '"planets": expected models, archs, hw, stacks, types, isa, counters or chat' list planets
refused 2 'one list at a time' list models hw
refused 2 '"xml"' list models -o xml
refused 1 'list hw: none of' list hw xyzzy
refused 1 'list models: none of' list models --min-params 900T
refused 2 '--kind needs `roofcast list hw`' list models --kind gpu
refused 2 '--kind "tpu": expected gpu, apu, npu or cpu' list hw --kind tpu
refused 2 '--arch needs `roofcast list models`' list hw --arch llama
refused 2 '--min-memory needs `roofcast list hw`' list --min-memory 1G
refused 2 'only `roofcast list hw` and `roofcast list models` are filtered' list types q4
refused 2 'only `roofcast list hw` and `roofcast list models` are filtered' list isa --sort name
refused 2 '--sort "params": expected one of: name bandwidth memory' list hw --sort params
refused 2 '--min-memory "lots": expected bytes' list hw --min-memory lots
refused 2 '--min-bandwidth "-1G": expected bytes' list hw --min-bandwidth -1G
refused 2 '--min-params "7 apples": expected a number' list models --min-params '7 apples'

mkdir -p "$tmp/data/models" "$tmp/data/hwprofiles"
cp "$top_srcdir/models/stories15m.json" "$top_srcdir/models/stories42m.json" "$tmp/data/models"
echo '{"model_type": "llama"}' >"$tmp/data/models/aaa-broken.json"
echo '{' >"$tmp/data/hwprofiles/aaa-broken.json"
cp "$top_srcdir/hwprofiles/h100-sxm.json" "$top_srcdir/hwprofiles/classes.json" "$tmp/data/hwprofiles"
ROOFCAST_DATA=$tmp/data run list models &&
    has '^stories15m ' && has '^stories42m ' && says 'warning:.*aaa-broken'
ok $? "one broken model is a warning; the others are listed"
ROOFCAST_DATA=$tmp/data run list hw &&
    has '^h100-sxm ' && says 'warning:.*aaa-broken'
ok $? "one broken profile is a warning; the others are listed"
echo '{"schema": "roofcast.hwprofile"}' >"$tmp/this.json"
run list hw &&
    has '^h100-sxm ' && says 'warning:.*this.json'
ok $? "a broken profile of this machine is a warning"

# ---- no data
saved=$ROOFCAST_DATA
for nowhere in "$tmp/no/such" "$tmp/data/models"; do
    ROOFCAST_DATA=$nowhere
    refused 2 "ROOFCAST_DATA is $nowhere, which has neither models/ nor hwprofiles/" list models
done
cp "$ROOFCAST" "$tmp/roofcast" # outside its tree it looks where it would be installed
mkdir -p "$tmp/none/models"
ROOFCAST_DATA=$tmp/none
tree=$ROOFCAST ROOFCAST=$tmp/roofcast
if run list models; then
    skip "no models: said as by predict" "installed here"
else
    refuses 1 "no models by name: $tmp/none has no models/*.json" list models &&
        refuses 1 "no models by name: $tmp/none has no models/*.json" predict llama-3-8b
    ok $? "no models: said as by predict"
fi
ROOFCAST=$tree ROOFCAST_DATA=$saved
(
    unset HOME XDG_DATA_HOME ROOFCAST_PROFILE
    refuses 2 "HOME is not set" predict llama-3-8b && refuses 2 "HOME is not set" profile --quick && run list hw
)
ok $? "no HOME: said, not a path below /"
# The counts of README.md
counts=
for list in "archs" "archs priced_only=false" "models" "hw" "types executable=true"; do
    run list "${list%% *}" -o csv
    case $list in *' '*) set -- "${list#* }" ;; *) set -- ;; esac
    counts="$counts $(cells name "$@" | wc -l)"
done
is "$counts" "$(paste -s -d' ' "$top_srcdir/README.md" | sed 's/.* \([0-9]*\) architectures (\([0-9]*\) of them executed.*), \([0-9]*\) models by name.* \([0-9]*\) machines; \([0-9]*\) tensor types with.*/ \1 \2 \3 \4 \5/')" "README.md counts what there is"
if [ -w /dev/full ]; then
    for what in --help --version "predict --help" "score --help" "list isa" "list isa -o json"; do
        # shellcheck disable=SC2086
        "$ROOFCAST" $what >/dev/full 2>"$tmp/err"
        [ $? -eq 1 ] && says 'No space left'
        ok $? "a full disk is an error: $what"
    done
fi
finish
