#!/bin/sh
# roofcast predict -ngl, --n-cpu-moe, -ot, --host: devices in tables and JSON, what is refused; rows of llama-bench and of CSV files with such options.
. "${top_srcdir:?}/tests/cli/lib.sh"
moe="gpt-oss-20b -q MXFP4 --hw rtx-2080ti"
# fails TEXT NAME ARGS...: an error of usage or input with the text
fails() {
    text=$1 name=$2
    shift 2
    run "$@"
    [ $status -ge 1 ] && [ $status -le 2 ] && grep -q -e "$text" "$tmp/err"
    ok $? "$name"
}

run predict $moe --host ryzen-9950x --n-cpu-moe auto
grep -q '^Devices of rtx-2080ti: GPU and ryzen-9950x, --n-cpu-moe [1-9]' "$tmp/out" && grep -q '^PCIe ' "$tmp/out" && grep -q '^CPU .*ryzen-9950x' "$tmp/out"
ok $? "the table has each device, and the number that auto found"
run predict $moe --host ryzen-9950x -ncmoe 12 -o json --save "$tmp/p.json"
jq -e '.rows | length == 2 and all(.devices | map(.device) == ["GPU", "CPU", "PCIe"])' "$tmp/out" >"$tmp/err" 2>&1 &&
    jq -e '.rows[1] | (.devices | map(.decode_s) | add) as $sum | .layout == "GPU and ryzen-9950x, --n-cpu-moe 12" and ($sum - .seconds | fabs) < 1e-12' "$tmp/out" >"$tmp/err" 2>&1
ok $? "JSON has them; their seconds add up to the row's"
run predict $moe -ncmoe 12 -p 0
grep -q 'a desktop CPU with two channels of memory is assumed' "$tmp/err" && grep -q 'a desktop CPU\*' "$tmp/out"
ok $? "an unnamed host is assumed, and said"
half() { jq '.rows[0] | .tok_s_hi / .tok_s_lo' "$1"; }
run predict $moe -ncmoe 24 -p 0 -o json && cp "$tmp/out" "$tmp/wide.json"
run predict $moe -ncmoe 24 -p 0 -o json --host ryzen-9950x
awk "BEGIN { exit !($(half "$tmp/wide.json") > 2 * $(half "$tmp/out")) }"
ok $? "its interval is wide"
run predict $moe -ncmoe 24 -p 0 -o json --host ryzen-9950x --host-bandwidth 44.8
awk "BEGIN { exit !($(jq '.rows[0].devices[1].decode_s' "$tmp/out") > 0) }" && grep -q 'given (--host-bandwidth)' "$tmp/out"
ok $? "--host-bandwidth: memory as it is populated"
run predict llama-3-8b -q Q4_K_M --hw rtx-4090 -o json --request 100+20 && cp "$tmp/out" "$tmp/plain.json"
run predict llama-3-8b -q Q4_K_M --hw rtx-4090 -ngl 99 -o json --request 100+20 --host ryzen-9950x
cmp -s "$tmp/out" "$tmp/plain.json"
ok $? "-ngl 99: all layers on the GPU are no offload, to the last bit"
run predict llama-3-8b -q Q4_K_M --hw rtx-4090 -ngl 99 --host-bandwidth 40
[ $status = 0 ] && grep -q -e '-ngl 99: no tensor of .* without effect: --host-bandwidth$' "$tmp/err" && ! grep -q 'is assumed' "$tmp/err"
ok $? "options of a host with nothing on it: a note, and no host is assumed"
run predict llama-3-8b -q Q4_K_M --hw "rtx-4090, rtx-2080ti" --n-cpu-moe 0 --host-bandwidth 80 -p 0
[ $status = 0 ] && grep -q 'no tensor of .* without effect: --host-bandwidth$' "$tmp/err" && grep -q '^rtx-2080ti ' "$tmp/out"
ok $? "the same with --n-cpu-moe 0; machines after a comma and a blank"
run predict llama-3.1-70b -q Q4_K_M --hw rtx-4090 --host ryzen-9950x -ngl 60 -n 0
grep -q '^Does not fit rtx-4090: needs .*-ngl auto' "$tmp/out"
ok $? "what does not fit is said, with what finds it"

run predict gpt-oss-120b -q MXFP4 --hw rtx-4090 --host ryzen-9950x --n-cpu-moe 30 --stack ik_llama.cpp
grep -q 'Passes of 1024 tokens and more copy' "$tmp/out"
ok $? "ik_llama.cpp copies weights for 32 tokens an expert"
run predict $moe --host ryzen-9950x --n-cpu-moe auto --what-if memory=x2 --what-if memory=x0.5 -p 0 -o json
jq -e '.rows | (map(.layout) | unique | length) == 3 and all(.fits != "no" and .fits != false)' "$tmp/out" >"$tmp/err" 2>&1
ok $? "auto is found for each changed machine"
run predict gpt-oss-20b -q MXFP4 --hw rtx-4090 --host ryzen-9950x --n-cpu-moe auto --what-if memory=x0.3 -p 0 -o json
jq -e '.rows | .[0].layout == "1 device" and (.[1].layout | test("--n-cpu-moe [1-9]")) and .[1].fits == null and .[1].devices[0].fits == true' "$tmp/out" >"$tmp/err" 2>&1
ok $? "also where all fits the machine as it is"
run predict $moe --host ryzen-9950x --n-cpu-moe auto --what-if memory=x0.01 -p 0 -o json
[ $status = 0 ] && jq -e '.rows | .[0].tok_s > 0 and .[1].fits == false and (.[1].layout | endswith("--n-cpu-moe auto")) and (.[1].reason | contains("does not fit"))' "$tmp/out" >"$tmp/err" 2>&1
ok $? "a change that nothing fits: a row that does not fit, with its reason"
run predict $moe --cpu-moe --n-cpu-moe 3 --host ryzen-9950x -p 0 -o json && cp "$tmp/out" "$tmp/both.json"
run predict $moe --n-cpu-moe 3 --cpu-moe --host ryzen-9950x -p 0 -o json && cmp -s "$tmp/out" "$tmp/both.json" &&
    jq -e '.rows[0].layout | endswith("--n-cpu-moe all")' "$tmp/out" >"$tmp/err" 2>&1
ok $? "--cpu-moe and --n-cpu-moe 3: both hold, in any order"
run predict $moe --n-cpu-moe 12 --host ryzen-9950x
grep -q 'decode; of ryzen-9950x; ' "$tmp/out" && grep -q 'prefill; of rtx-2080ti; ' "$tmp/out" && grep -q 'GPU and CPU, both at TDP' "$tmp/out"
ok $? "roofs name their device, power both"
grep -q '^Memory of ryzen-9950x: unknown; it needs 5' "$tmp/out" && grep -q '^PCIe of rtx-2080ti: 15.8 GB/s, ' "$tmp/out" && grep -q 'pageable memory.*--no-mmap' "$tmp/out" && ! grep -q 'link=x0.5' "$tmp/out"
ok $? "the host's need of unknown memory; the bus with its source, and what makes copies faster"
run predict $moe --n-cpu-moe 12 --host ryzen-9950x --no-mmap -o json --save "$tmp/host.json" && jq -e '.rows | .[0].roofs_of == "rtx-2080ti" and .[1].roofs_of == "ryzen-9950x" and .[1].fits == null and
    .[0].devices[2].link_bytes_s == 15.75e9 and .[0].devices[2].copied_bytes_s > 12e9 and .[0].devices[0].link_source == null' "$tmp/out" >"$tmp/err" 2>&1
ok $? "JSON too"
run predict $moe --n-cpu-moe 12 --host ryzen-9950x --no-mmap -n 0 && grep -q -e '--what-if link=x0.5' "$tmp/out"
ok $? "a narrower slot: with page-locked memory"
run compare "$tmp/host.json" "$tmp/host.json" && grep -q 'on rtx-2080ti, GPU and ryzen-9950x, --n-cpu-moe 12' "$tmp/out"
ok $? "compare names host and options"
run report "$tmp/host.json" -o "$tmp/host.html" && grep -q 'rtx-2080ti (GPU and ryzen-9950x, --n-cpu-moe 12' "$tmp/host.html"
ok $? "so does the verdict of a page"
run predict llama-3-8b -q Q4_K_M --hw rtx-4090 --host ryzen-9950x -ncmoe 8 -p 0 && grep -q 'n-cpu-moe 8: no tensor of .* is on the host.*it has no experts' "$tmp/err"
ok $? "experts of a dense model: a note"
run predict $moe --host ryzen-9950x -ot nosuch=CPU -p 0,512 && [ "$(grep -c 'ot nosuch=CPU: no tensor of' "$tmp/err")" = 1 ]
ok $? "a pattern that matches nothing: a note, once"
run predict $moe --host ryzen-9950x -ncmoe 3 -p 0 && ! grep -q 'no tensor of' "$tmp/err"
ok $? "no note with experts on the host"
fails 'nothing is on the host' "--host alone" predict $moe --host ryzen-9950x
fails 'expected a CPU' "a GPU as the host" predict $moe --host rtx-4090 -ngl 3
fails 'shares its memory with its CPU' "an Apple GPU" predict llama-3-8b --hw apple-m2 -ngl 3
fails 'auto, and a number or --cpu-moe' "auto with a number" predict $moe --cpu-moe --n-cpu-moe auto
fails 'vllm keeps no layers' "another engine with nothing on the GPU" predict $moe -ngl 0 -p 0 --stack vllm --host ryzen-9950x
fails 'one GPU only' "several GPUs" predict $moe -ngl 3 --tp 2 --host ryzen-9950x
fails 'vllm keeps no layers' "another engine" predict $moe -ngl 3 --stack vllm --host ryzen-9950x
fails '--explain: not of a model' "--explain" predict $moe -ngl 3 --explain
fails '--solve: not of a model' "--solve" predict $moe -ngl 3 --solve batch=fits
fails '--draft: not of a model' "--draft" predict $moe -ngl 3 --draft ngram --acceptance 0.6
fails 'expected REGEX=DEVICE' "a pattern without a device" predict $moe -ot exps
fails '-ngl' "a number of layers" predict $moe -ngl many
fails 'unknown option\|unrecognized option\|invalid option' "capacity has no such option" capacity llama-3-8b --hw rtx-4090 -ngl 3
fails "two machines' roofs" "no roofline of two machines" plot "$tmp/p.json" -o "$tmp/chart"
run report "$tmp/p.json" -o "$tmp/p.html" && grep -q "a part of the model is in the host" "$tmp/p.html"
ok $? "a page says that its changes are unavailable"

# A run of llama-bench with experts on the host.
test_of() { # NCMOE CPU PROMPT GEN RATE
    printf '{"build_number":6457,"cpu_info":"%s","gpu_info":"NVIDIA GeForce RTX 5080","backends":"CUDA","model_filename":"gpt-oss-20b-mxfp4.gguf","model_type":"gpt-oss 20B MXFP4 MoE","model_size":12109565632,"model_n_params":20914757184,"n_batch":2048,"n_ubatch":512,"n_threads":16,"type_k":"f16","type_v":"f16","n_gpu_layers":99,"n_cpu_moe":%s,"flash_attn":true,"use_mmap":true,"n_prompt":%s,"n_gen":%s,"n_depth":0,"test_time":"2025-09-12T10:00:00Z","avg_ns":%s,"avg_ts":%s}' \
        "$2" "$1" "$3" "$4" "$(awk "BEGIN { printf \"%d\", 1e9 * ($3 + $4) / $5 }")" "$5"
}
{ echo "["; test_of 12 "AMD Ryzen 9 9950X 16-Core Processor" 0 128 60; echo ","; test_of 24 "" 0 128 40; echo "]"; } >"$tmp/lb.json"
run score "$tmp/lb.json" -o json
jq -e '.n_unpriced == 0 and (.rows | map(select(.line > 0 and .lo < .measured and .measured < .hi)) | length) == 2' "$tmp/out" >"$tmp/err" 2>&1
ok $? "llama-bench: both devices are predicted"
jq -e '.rows | (map(select(.guess // "" | contains("host"))) | length) <= 1 and (map(.hi / .lo) | max / min > 1.5)' "$tmp/out" >"$tmp/err" 2>&1
ok $? "wider where the host is not named"
run report "$tmp/lb.json" && grep -q 'runs a part of the model: no roof of one device' "$tmp/out"
ok $? "report: no share of one device's roof"
sed 's/"n_cpu_moe":12/"n_cpu_moe":20/' "$tmp/lb.json" >"$tmp/lb2.json"
run compare "$tmp/lb.json" "$tmp/lb2.json"
grep -q 'part on the host --n-cpu-moe 20 .* only in B' "$tmp/out"
ok $? "compare: another part on the host is another setting"
{
    echo "hardware,model,quant,phase,prompt_len,context_len,batch,engine,tokens_per_s,notes"
    echo 'NVIDIA GeForce RTX 5080,gpt-oss-20b,MXFP4,decode,0,64,1,llama.cpp (CUDA),60,"tags=moe; ngl=99; ncmoe=12; host=AMD Ryzen 9 9950X"'
    echo 'NVIDIA GeForce RTX 5080,gpt-oss-20b,MXFP4,decode,0,64,1,llama.cpp (CUDA),60,"tags=moe; -ngl 99 -ot exps=CPU; host=AMD Ryzen 9 9950X; host_gbs=60"'
    echo 'NVIDIA GeForce RTX 5080,gpt-oss-20b,MXFP4,decode,0,64,1,llama.cpp (CUDA),60,tags=moe'
    echo 'NVIDIA GeForce RTX 5080,gpt-oss-20b,MXFP4,decode,0,64,1,llama.cpp (CUDA),60,"tags=moe; -ngl 99 -ncmoe 3 --cpu-moe; host=AMD Ryzen 9 9950X"'
    echo 'NVIDIA GeForce RTX 5080,gpt-oss-20b,MXFP4,decode,0,64,1,llama.cpp (CUDA),60,"tags=moe; -ngl 99 -ncmoe 24; host=AMD Ryzen 9 9950X"'
} >"$tmp/rows.csv"
run score "$tmp/rows.csv" -o json
jq -e '.rows | sort_by(.line) | .[0].predicted < 0.8 * .[2].predicted and .[1].predicted < .[0].predicted and .[3].predicted == .[4].predicted' "$tmp/out" >"$tmp/err" 2>&1
ok $? "notes of a CSV: ngl, ncmoe, cpu-moe with it, -ot, host, host_gbs"
finish
