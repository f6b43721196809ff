#!/bin/sh
# The JSON of every command, and every JSON in the tree, against the tables of doc/formats.md.
. "${top_srcdir:?}/tests/cli/lib.sh"
validate=${VALIDATE:-tests/run/validate}
doc=$top_srcdir/doc/formats.md
check() { # SCHEMA FILE NAME
    "$validate" "$doc" "$1" "$2" >"$tmp/err" 2>&1
    ok $? "$3"
}
# A command whose -o json is a document of SCHEMA and whose -o jsonl is its rows.
command_json() { # SCHEMA ARGS...
    schema=$1
    shift
    run "$@" -o json && "$validate" "$doc" "$schema" "$tmp/out" >"$tmp/err" 2>&1
    ok $? "$* -o json"
}
command_jsonl() {
    run "$@" -o jsonl && "$validate" "$doc" --lines "$tmp/out" >"$tmp/err" 2>&1
    ok $? "$* -o jsonl"
}
must_fail() { # NAME MESSAGE VALIDATE-ARGS...
    name=$1 message=$2
    shift 2
    if "$validate" "$doc" "$@" >"$tmp/err" 2>&1; then
        echo "the validator accepted it" >"$tmp/err"
        ok 1 "$name"
    else
        grep -qF -- "$message" "$tmp/err"
        ok $? "$name"
    fi
}

# ---- the validator can fail
printf '{"schema":"roofcast.list.isa","version":1,"rows":[{"isa":"ref","usable":true,"best":false,"reason":null}]}' >"$tmp/good.json"
check roofcast.list.isa "$tmp/good.json" "the validator accepts a good document"
sed 's/,"best":false//' "$tmp/good.json" >"$tmp/bad.json"
must_fail "the validator sees a missing field" 'rows[0]: field "best" of list.isa is missing' roofcast.list.isa "$tmp/bad.json"
sed 's/"usable":true/"usable":"yes"/' "$tmp/good.json" >"$tmp/bad.json"
must_fail "the validator sees a wrong type" 'rows[0].usable: expected bool, found "yes"' roofcast.list.isa "$tmp/bad.json"
sed 's/"best"/"extra":1,"best"/' "$tmp/good.json" >"$tmp/bad.json"
must_fail "the validator sees an undocumented field" 'rows[0]: field "extra" is not in list.isa' roofcast.list.isa "$tmp/bad.json"
sed 's/"version":1/"version":2/' "$tmp/good.json" >"$tmp/bad.json"
must_fail "the validator sees another version" 'version: expected 1, found 2' roofcast.list.isa "$tmp/bad.json"
printf '{"schema":"roofcast.list.isa","version":1,"isa":7,"usable":true,"best":false,"reason":null}\n' >"$tmp/bad.jsonl"
must_fail "the validator sees a bad line" 'row.isa: expected string, found 7' --lines "$tmp/bad.jsonl"

# ---- the fields that the interface promises are in the tables
promised() { # SECTION FIELDS...
    section=$1
    shift
    "$validate" "$doc" --fields "$section" >"$tmp/fields" 2>"$tmp/err"
    for f in "$@"; do
        grep -qx "$f" "$tmp/fields" || echo "no field $f" >>"$tmp/err"
    done
    test ! -s "$tmp/err"
    ok $? "formats.md: $section has its fields"
}
promised run.row model type n_threads test n_batch n_ubatch tok_s_mean tok_s_sd ttft_s itl_p50_s itl_p99_s bytes_s \
    ceiling_bytes_s mbu flop_s ceiling_flop_s mfu bound counters dram_bytes_s mbu_dram dram_source dram_reason energy_j j_tok \
    energy_source energy_reason act_scales roof_moved profile_bytes_s mbu_profile profile_flop_s mfu_profile profile_reason steal n_switch cpu_share clock_hz \
    ops_ceiling_bytes_s ops_ceiling_flop_s ops_lowest_bytes_s ops_highest_bytes_s
promised run.repetition model test n_threads repetition seconds tok_s ceiling_bytes_s mbu ceiling_flop_s mfu steal n_switch clock_hz
promised run.finding model test role what rate roof unit ratio cause text
promised analyze.row phase layer role op type rows cols n_tok weight_bytes act_bytes kv_bytes flop ai share
promised run.op phase layer role op type rows cols n_tok weight_bytes act_bytes kv_bytes flop ai share seconds bytes_s \
    flop_s roof_fraction
promised bench.batch n_prompt n_gen n_batch n_kv pp_s pp_tok_s tg_s tg_tok_s total_s total_tok_s tg_mbu tg_mfu
promised run.count test phase role field value per_s source reason
promised run.certificate backend event field class work ratio known counted date
promised run.load packed_bytes pack_s pack_bytes_s act_scales peak_bytes peak_reason
promised predict.row model hw type phase n_prompt n_depth n_batch seconds tok_s weight_bytes kv_bytes flop bound ttft_s \
    itl_s fits
promised ceiling name kind dtype isa level n_threads value unit ci_lo ci_hi n_samples kernel clock_hz cpus date

# ---- the files of the tree
hw=$top_srcdir/hwprofiles
set --
for f in "$hw"/*.json; do
    [ "$f" = "$hw/classes.json" ] || set -- "$@" "$f"
done
"$validate" "$doc" roofcast.hwprofile "$@" >"$tmp/err" 2>&1 && "$validate" "$doc" roofcast.hwclasses "$hw/classes.json" >"$tmp/err" 2>&1
ok $? "hwprofiles/*.json"
"$validate" "$doc" roofcast.constants "$hw/stacks/constants.json" "$hw/stacks/constants_base.json" >"$tmp/err" 2>&1 &&
    "$validate" "$doc" roofcast.priors "$hw/stacks/priors.json" >"$tmp/err" 2>&1 &&
    "$validate" "$doc" roofcast.rules "$hw/stacks/rules.json" "$hw/stacks/servers.json" >"$tmp/err" 2>&1 &&
    "$validate" "$doc" roofcast.machines "$hw/priors/machines.json" >"$tmp/err" 2>&1
ok $? "hwprofiles/stacks/*.json, hwprofiles/priors/*.json"
"$validate" "$doc" roofcast.events "$top_srcdir"/events/*.json >"$tmp/err" 2>&1
ok $? "events/*.json"
"$validate" "$doc" model.config "$top_srcdir"/models/*.json >"$tmp/err" 2>&1
ok $? "models/*.json"

# ---- the ten lines of formats.md are a profile that predicts
sed -n '/^```json$/,/^```$/p' "$doc" | sed '/^```/d' >"$tmp/my-gpu.json"
check roofcast.hwprofile "$tmp/my-gpu.json" "the GPU of formats.md is a profile"
test "$(wc -l <"$tmp/my-gpu.json")" -le 10
ok $? "the GPU of formats.md has at most ten lines"
command_json roofcast.predict predict llama-3-8b --hw "$tmp/my-gpu.json"

# ---- the commands
for what in models archs hw stacks types isa counters chat; do
    command_json roofcast.list.$what list $what
    command_jsonl list $what
done
command_json roofcast.list list
command_json roofcast.doctor doctor
command_jsonl doctor null tsc
for by in op layer role; do
    command_json roofcast.analyze analyze stories15m -p 7 -d 3 --by $by
    command_jsonl analyze stories15m -p 7 --by $by
done
command_json roofcast.analyze analyze llama-3.1-8b -q Q4_K_M -p 0 -n 16 --by role
sizes='"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2, "num_key_value_heads": 2, "intermediate_size": 96,
    "vocab_size": 300, "num_experts_per_tok": 2, "hidden_act": "silu"'
printf '{"model_type": "mixtral", "num_local_experts": 8, "sliding_window": 16, %s}' "$sizes" >"$tmp/experts.json"
printf '{"model_type": "deepseek_v3", "n_routed_experts": 8, "n_shared_experts": 1, "moe_intermediate_size": 32, "kv_lora_rank": 56,
    "q_lora_rank": null, "first_k_dense_replace": 0,
    "qk_nope_head_dim": 24, "qk_rope_head_dim": 8, "v_head_dim": 32, %s}' "$sizes" >"$tmp/latents.json"
for m in experts latents; do
    command_json roofcast.analyze analyze "$tmp/$m.json" -p 7 -n 5 -ctk Q8_0
    command_json roofcast.predict predict "$tmp/$m.json" --hw h100-sxm --by role -p 7 -ctk Q8_0
done
command_json roofcast.predict predict stories15m --hw h100-sxm,rtx-4090 -q Q8_0 -p 6,16 -n 4 -d 0,64 -b 1,2
command_json roofcast.predict predict stories15m --hw h100-sxm --by role
command_json roofcast.predict predict stories15m --hw h100-sxm --roof -p 0
command_json roofcast.predict predict stories15m --hw h100-sxm --weights-gb 16 -p 6 --by role
command_json roofcast.predict predict stories15m --hw h100-sxm --weights-gb all --weights-only
command_json roofcast.predict predict stories15m --hw h100-sxm --draft ngram --acceptance 0.5,0.4 --gamma 2
command_json roofcast.predict predict stories15m --hw h100-sxm -b 2 -n 4 --request 6+3,6+1 --price 2 --explain
command_json roofcast.predict predict stories15m --hw h100-sxm -n 4 --what-if bandwidth=x2 --what-if tp=2,type=Q8_0
command_json roofcast.solve predict stories15m --hw h100-sxm --solve context=fits --solve machine=fits --solve 'bandwidth=tok_s>=1e9'
command_jsonl predict stories15m --hw h100-sxm
command_json roofcast.memory memory stories15m --hw h100-sxm
command_json roofcast.choose choose stories15m --hw h100-sxm,rtx-4090
command_json roofcast.choose choose stories15m --rate 100 --devices 1
load="--hw h100-sxm --workload random:in=100,out=50 --rate 4 --requests 60 --slo p99:ttft=1s,itl=50ms"
command_json roofcast.simulate simulate stories15m $load
command_json roofcast.simulate simulate stories15m --hw h100-sxm --workload random:in=100,out=50 --requests 3 --draws 0
command_json roofcast.policies simulate stories15m $load --compare-policies
run simulate stories15m $load --draws 0 --save "$tmp/a.json" && run simulate stories15m -q Q8_0 $load --draws 12 --save "$tmp/b.json"
command_json roofcast.serving_compare compare "$tmp/a.json" "$tmp/b.json"
command_jsonl compare "$tmp/a.json" "$tmp/b.json"
command_jsonl compare "$tmp/a.json" "$tmp/b.json" --steps
t=$top_srcdir/tests/report
command_json roofcast.comparison compare "$t/run.json" "$t/run.json"
command_jsonl compare "$t/run.json" "$t/run.json"
command_jsonl compare "$t/run.json" "$t/run.json" --ops
command_json roofcast.comparison compare h100-sxm h100-sxm
command_json roofcast.capacity capacity stories15m --hw h100-sxm,rtx-4090 --workload random:in=100,out=50 --requests 60 --slo ttft=1s,tpot=50ms
command_json roofcast.capacity capacity llama-3.1-405b --hw h100-sxm,rtx-4090 --requests 60 --slo ttft=1s
command_jsonl simulate stories15m $load
command_jsonl simulate stories15m $load --compare-policies
command_jsonl capacity stories15m --hw h100-sxm --workload random:in=100,out=50 --requests 60 --slo p99:itl=50ms
command_json roofcast.compare profile --compare h100-sxm rtx-4090
mkdir -p "$tmp/bin"
printf '#!/bin/sh\nprintf "Time:\\t2.5e-01 sec\\nIterations:\\t9\\nSize (Byte):\\t9\\nMFlops/s:\\t9.0\\nMByte/s:\\t9.0\\nGroup: 0 Thread 0 Global Thread 0 running on hwthread 0\\n"\n' >"$tmp/bin/likwid-bench"
chmod +x "$tmp/bin/likwid-bench"
PATH=$tmp/bin:$PATH "$ROOFCAST" profile --cross-check --brief -t 1 -o json >"$tmp/crosscheck.json" 2>"$tmp/err"
check roofcast.crosscheck "$tmp/crosscheck.json" "profile --cross-check -o json"
command_jsonl memory llama-3.1-70b --hw rtx-4090
command_jsonl choose llama-3.1-70b --hw rtx-4090

generate="run -m $top_srcdir/tests/fixtures/llama-2l.gguf -t 1 --ignore-eos -p one"
# shellcheck disable=SC2086
{
    command_json roofcast.generation $generate -n 4
    command_json roofcast.generation $generate -n 2 --chat-template chatml
    command_json roofcast.generation $generate -n 1
    has '"itl_p50_s": null' && has '"itl_p99_s": null' && has '"tok_s": null' && ! has '"ttft_s": null'
    ok $? "one token has no latency between tokens: null"
}

run synth --n-layer 2 --n-embd 64 --n-ff 128 --n-head 4 --n-head-kv 2 --n-vocab 512 -q Q8_0 -o "$tmp/m.gguf"
ok $? "synth a tiny model"
command_json roofcast.analyze analyze "$tmp/m.gguf" -p 4
command_json roofcast.quantize quantize "$tmp/m.gguf" -q Q4_0 --allow-requantize --force "$tmp/q.gguf"
command_jsonl quantize "$tmp/m.gguf" -q F16 --tensors --allow-requantize --force "$tmp/q.gguf"
bench="bench --brief -m $tmp/m.gguf -t 1 -r 1"
# shellcheck disable=SC2086
{
    command_json roofcast.simulate serve -m "$tmp/m.gguf" -t 1 --workload random:in=20,out=6 --requests 4
    command_json roofcast.bench $bench -p 8 -n 4 -d 16 --ops --save "$tmp/run.json"
    check roofcast.run "$tmp/run.json" "bench --save"
    command_jsonl $bench -p 8 -n 0 --ops
    command_json roofcast.bench $bench -p 0 -n 4 --counters null
    command_json roofcast.bench $bench -p 4 -n 2 -b 1,2 --no-repack
    command_jsonl $bench -p 4 -n 2 -b 2
    run synth --n-layer 1 --n-embd 64 --n-ff 64 --n-head 4 --n-head-kv 2 --n-vocab 512 --n-expert 4 --n-expert-used 2 -q Q8_0 \
        -o "$tmp/experts.gguf" && run bench --brief -m "$tmp/experts.gguf" -t 1 -r 1 -p 8 -n 0 --save "$tmp/experts.run.json"
    check roofcast.run "$tmp/experts.run.json" "bench --save, with experts"
}
if [ "${ROOFCAST_LONG:-0}" = 1 ]; then # half a minute
    run profile --quick
    ok $? "profile --quick"
    check roofcast.hwprofile "$ROOFCAST_PROFILE" "the profile of this machine"
fi
finish
