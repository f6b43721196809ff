#!/usr/bin/env python3
"""A third computation, for golden.h: whole sequences at once, masks, complex rotations, nothing cached; plain Python.

usage: golden.py WRITE_RANDOM > golden.h      WRITE_RANDOM: the program of write_random.c

Written from transformers' modeling_*.py and the papers, without a look at the C beside it, to catch slips of either.
"""
import cmath, math, struct, subprocess, sys, tempfile

SHAPES = {"llama": 4, "mixtral": 3, "qwen2": 3, "qwen3": 3, "qwen3moe": 3, "gemma2": 3, "gemma3": 2, "phi3": 4, "olmo2": 3, "smollm3": 2,
          "gpt-oss": 3, "deepseek2": 6}
SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}


def read(path):
    """Keys without their prefix, and tensors as nested lists, last index contiguous."""
    d, at = open(path, "rb").read(), 4

    def take(fmt):
        nonlocal at
        v = struct.unpack_from("<" + fmt, d, at)[0]
        at += struct.calcsize("<" + fmt)
        return v

    def text():
        nonlocal at
        n = take("Q")
        at += n
        return d[at - n:at].decode()

    take("I")
    n_tensors, n_keys = take("Q"), take("Q")
    keys, infos, tensors = {}, [], {}
    for _ in range(n_keys):
        name, kind = text(), take("I")
        keys[name] = text() if kind == 8 else take(SCALARS[kind])
    for _ in range(n_tensors):
        name = text()
        dims = [take("Q") for _ in range(take("I"))]
        kind, offset = take("I"), take("Q")
        assert kind == 0
        infos.append((name, dims, offset))
    start = (at + 31) // 32 * 32
    for name, dims, offset in infos:
        v = list(struct.unpack_from("<%df" % math.prod(dims), d, start + offset))
        for n in dims[:-1]:
            v = [v[i:i + n] for i in range(0, len(v), n)]
        tensors[name] = v
    arch = keys["general.architecture"]
    return arch, {k[len(arch) + 1:]: v for k, v in keys.items() if k.startswith(arch + ".")}, tensors


def dot(a, b):
    return sum(x * y for x, y in zip(a, b))


def linear(xs, w, bias=None):
    ys = [[dot(r, x) for r in w] for x in xs]
    return [[a + b for a, b in zip(y, bias)] for y in ys] if bias else ys


def norm(x, w, eps):
    r = 1 / math.sqrt(sum(v * v for v in x) / len(x) + eps)
    return [v * r * g for v, g in zip(x, w)]


def norms(xs, w, eps):
    return [norm(x, w, eps) for x in xs]


def plus(xs, ys):
    return [[a + b for a, b in zip(x, y)] for x, y in zip(xs, ys)]


def softmax(x):
    m = max(x)
    e = [math.exp(v - m) for v in x]
    s = sum(e)
    return [v / s for v in e]


def sigmoid(x):
    return 1 / (1 + math.exp(-x))


def silu(x):
    return x * sigmoid(x)


def gelu(x):
    return 0.5 * x * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x ** 3)))


def heads(xs, n):
    """[token][n * dim] -> [n][token][dim]"""
    d = len(xs[0]) // n
    return [[x[h * d:(h + 1) * d] for x in xs] for h in range(n)]


def yarn(dim, base, factor, orig, fast=32, slow=1):
    """transformers' _compute_yarn_parameters: inverse frequencies."""
    def index(rotations):
        return dim * math.log(orig / (rotations * 2 * math.pi)) / (2 * math.log(base))
    low, high = max(math.floor(index(fast)), 0), min(math.ceil(index(slow)), dim - 1)
    if low == high:
        high += 0.001
    freqs = []
    for i in range(dim // 2):
        extrapolated = 1 / base ** (2 * i / dim)
        keep = 1 - min(1, max(0, (i - low) / (high - low)))
        freqs.append(extrapolated / factor * (1 - keep) + extrapolated * keep)
    return freqs


def rotary(k, t, dim, base, n_tokens):
    """Inverse frequencies and the factor of cos and sin."""
    kind, factor = k.get("rope.scaling.type"), k.get("rope.scaling.factor", 1.0)
    orig = k.get("rope.scaling.original_context_length")
    if kind == "yarn":
        return yarn(dim, base, factor, orig), 0.1 * math.log(factor) + 1
    freqs = [base ** (-2 * i / dim) / factor for i in range(dim // 2)]
    if "rope_freqs.weight" in t:
        freqs = [f / g for f, g in zip(freqs, t["rope_freqs.weight"])]
    if "rope_factors_long.weight" in t:
        g = t["rope_factors_long.weight"] if n_tokens > orig else t["rope_factors_short.weight"]
        scale = k["context_length"] / orig
        return [f / x for f, x in zip(freqs, g)], math.sqrt(1 + math.log(scale) / math.log(orig)) if scale > 1 else 1.0
    return freqs, 1.0


def turn(head, freqs, amplitude, halves):
    """Each token of [token][dim] as complex numbers times amplitude * exp(i pos f); what is beyond 2 len(freqs) stays."""
    out, n = [], len(freqs)
    for pos, x in enumerate(head):
        re, im = (x[:n], x[n:2 * n]) if halves else (x[0:2 * n:2], x[1:2 * n:2])
        z = [complex(a, b) * amplitude * cmath.exp(1j * pos * f) for a, b, f in zip(re, im, freqs)]
        y = [c.real for c in z] + [c.imag for c in z] if halves else [v for c in z for v in (c.real, c.imag)]
        out.append(y + x[2 * n:])
    return out


def attend(q, k, v, scale, window=None, cap=None, sink=None):
    """One head: [token][dim]; masks are whole matrices."""
    out = []
    for i, qi in enumerate(q):
        s = [dot(qi, kj) * scale for kj in k]
        if cap:
            s = [cap * math.tanh(a / cap) for a in s]
        s = [a if j <= i and (not window or j > i - window) else -1e30 for j, a in enumerate(s)]
        p = softmax(s + [sink])[:-1] if sink is not None else softmax(s)
        out.append([dot(p, column) for column in zip(*v)])
    return out


def join(parts):
    """[n][token][dim] -> [token][n * dim]"""
    return [[a for h in row for a in h] for row in zip(*parts)]


def best(scores, n):
    return sorted(range(len(scores)), key=lambda i: -scores[i])[:n]


def glu(xs, gate, up, down, act=silu):
    return linear([[act(a) * b for a, b in zip(g, u)] for g, u in zip(linear(xs, gate), linear(xs, up))], down)


def weighted(x, w, ids, weights, expert):
    y = [0.0] * len(x)
    for e, a in zip(ids, weights):
        y = [p + a * o for p, o in zip(y, expert(e, x))]
    return y


def plain_expert(w):
    return lambda e, x: glu([x], w["ffn_gate_exps.weight"][e], w["ffn_up_exps.weight"][e], w["ffn_down_exps.weight"][e])[0]


def gpt_oss_expert(w):
    def run(e, x):
        gate = linear([x], w["ffn_gate_exps.weight"][e], w["ffn_gate_exps.bias"][e])[0]
        up = linear([x], w["ffn_up_exps.weight"][e], w["ffn_up_exps.bias"][e])[0]
        gate, up = [min(a, 7.0) for a in gate], [max(min(a, 7.0), -7.0) for a in up]
        y = [(u + 1) * (g * sigmoid(g * 1.702)) for g, u in zip(gate, up)]
        return linear([y], w["ffn_down_exps.weight"][e], w["ffn_down_exps.bias"][e])[0]
    return run


def moe(arch, k, w, xs):
    n, used, out = k["expert_count"], k["expert_used_count"], []
    for x, logits in zip(xs, linear(xs, w["ffn_gate_inp.weight"], w.get("ffn_gate_inp.bias"))):
        if arch == "gpt-oss":
            ids = best(logits, used)
            out.append(weighted(x, w, ids, softmax([logits[i] for i in ids]), gpt_oss_expert(w)))
            continue
        if arch != "deepseek2":
            p = softmax(logits)
            ids = best(p, used)
            total = sum(p[i] for i in ids)
            out.append(weighted(x, w, ids, [p[i] / total for i in ids], plain_expert(w)))
            continue
        v3 = k["expert_gating_func"] == 2
        p = [sigmoid(a) for a in logits] if v3 else softmax(logits)
        choice = [a + b for a, b in zip(p, w["exp_probs_b.bias"])] if v3 else p
        groups = k.get("expert_group_count", 1)
        size = n // groups
        rank = [sorted(choice[g * size:(g + 1) * size])[-2 if v3 else -1:] for g in range(groups)]
        taken = best([sum(r) for r in rank], k.get("expert_group_used_count", 1))
        ids = best([c if i // size in taken else -1e30 for i, c in enumerate(choice)], used)
        weights = [p[i] for i in ids]
        if k.get("expert_weights_norm"):
            weights = [a / (sum(weights) + 1e-20) for a in weights]
        out.append(weighted(x, w, ids, [a * k["expert_weights_scale"] for a in weights], plain_expert(w)))
    if "ffn_gate_shexp.weight" in w:
        out = plus(out, glu(xs, w["ffn_gate_shexp.weight"], w["ffn_up_shexp.weight"], w["ffn_down_shexp.weight"]))
    return out


def mla(k, w, t, xs, eps):
    n, rope, rank = k["attention.head_count"], k["rope.dimension_count"], k["attention.kv_lora_rank"]
    dim = k.get("attention.key_length_mla", k["attention.key_length"])
    v_dim = k.get("attention.value_length_mla", k["attention.value_length"])
    nope = dim - rope
    freqs, _ = rotary(k, t, rope, k["rope.freq_base"], len(xs))
    if "attn_q_a.weight" in w:
        q = linear(norms(linear(xs, w["attn_q_a.weight"]), w["attn_q_a_norm.weight"], eps), w["attn_q_b.weight"])
    else:
        q = linear(xs, w["attn_q.weight"])
    kv = linear(xs, w["attn_kv_a_mqa.weight"])
    latent = norms([a[:rank] for a in kv], w["attn_kv_a_norm.weight"], eps)
    k_pe = turn([a[rank:] for a in kv], freqs, 1, False)
    scale = dim ** -0.5
    if k.get("rope.scaling.type") == "yarn":
        mscale = k["rope.scaling.yarn_log_multiplier"] * math.log(k["rope.scaling.factor"]) + 1
        scale *= mscale * mscale
    outs = []
    for h, qh in enumerate(heads(q, n)):
        if "attn_kv_b.weight" in w:
            rows = w["attn_kv_b.weight"][h * (nope + v_dim):(h + 1) * (nope + v_dim)]
            k_rows, v_rows = rows[:nope], rows[nope:]
        else:
            k_rows, v_rows = [list(c) for c in zip(*w["attn_k_b.weight"][h])], w["attn_v_b.weight"][h]
        key = [a + b for a, b in zip(linear(latent, k_rows), k_pe)]
        pe = turn([a[nope:] for a in qh], freqs, 1, False)
        query = [a[:nope] + b for a, b in zip(qh, pe)]
        outs.append(attend(query, key, linear(latent, v_rows), scale))
    return linear(join(outs), w["attn_output.weight"])


def attention(arch, k, w, t, xs, il, eps):
    n, n_kv = k["attention.head_count"], k["attention.head_count_kv"]
    n_layer, n_embd = k["block_count"], k["embedding_length"]
    dim = k.get("attention.key_length", n_embd // n)
    window, cap, base = k.get("attention.sliding_window"), None, k.get("rope.freq_base", 10000.0)
    if "attn_qkv.weight" in w:
        qkv = linear(xs, w["attn_qkv.weight"])
        q, key, v = ([a[i:j] for a in qkv] for i, j in ((0, n * dim), (n * dim, (n + n_kv) * dim), ((n + n_kv) * dim, (n + 2 * n_kv) * dim)))
    else:
        q, key, v = (linear(xs, w["attn_%s.weight" % c], w.get("attn_%s.bias" % c)) for c in "qkv")
    if arch == "olmo2":
        q, key = norms(q, w["attn_q_norm.weight"], eps), norms(key, w["attn_k_norm.weight"], eps)
    q, key, v = heads(q, n), heads(key, n_kv), heads(v, n_kv)
    if arch in ("qwen3", "qwen3moe", "gemma3"):
        q, key = [norms(h, w["attn_q_norm.weight"], eps) for h in q], [norms(h, w["attn_k_norm.weight"], eps) for h in key]
    freqs, amplitude = rotary(k, t, k.get("rope.dimension_count", dim), base, len(xs))
    scale = dim ** -0.5
    if arch == "gemma2":
        window, cap = (window if not il % 2 else None), k["attn_logit_softcapping"]
        scale = (n_embd // n) ** -0.5 if n_layer == 46 else scale
    if arch == "gpt-oss":
        window = window if (il + 1) % 2 else None
    if arch == "gemma3":
        if (il + 1) % 6:
            freqs = [10000.0 ** (-2 * i / dim) for i in range(dim // 2)]
        else:
            window = None
    if arch != "smollm3" or (il + 1) % 4:
        halves = arch not in ("llama", "smollm3")
        q, key = [turn(h, freqs, amplitude, halves) for h in q], [turn(h, freqs, amplitude, halves) for h in key]
    sinks = w.get("attn_sinks.weight", [None] * n)
    outs = [attend(q[h], key[h // (n // n_kv)], v[h // (n // n_kv)], scale, window, cap, sinks[h]) for h in range(n)]
    return linear(join(outs), w["attn_output.weight"], w.get("attn_output.bias"))


def forward(arch, k, t, tokens):
    eps, n_embd = k["attention.layer_norm_rms_epsilon"], k["embedding_length"]
    xs = [list(t["token_embd.weight"][i]) for i in tokens]
    act = silu
    if arch.startswith("gemma"):
        xs, act = [[a * math.sqrt(n_embd) for a in x] for x in xs], gelu
    for il in range(k["block_count"]):
        prefix = "blk.%d." % il
        w = {name[len(prefix):]: v for name, v in t.items() if name.startswith(prefix)}
        h = norms(xs, w["attn_norm.weight"], eps) if "attn_norm.weight" in w else xs
        y = mla(k, w, t, h, eps) if arch == "deepseek2" else attention(arch, k, w, t, h, il, eps)
        before_ffn = w.get("ffn_norm.weight")
        if arch == "gpt-oss":
            before_ffn = w["post_attention_norm.weight"]
        elif "post_attention_norm.weight" in w:
            y = norms(y, w["post_attention_norm.weight"], eps)
        xs = plus(xs, y)
        h = norms(xs, before_ffn, eps) if before_ffn else xs
        if "ffn_gate_inp.weight" in w:
            y = moe(arch, k, w, h)
        elif arch == "phi3":
            n = len(w["ffn_up.weight"]) // 2
            y = glu(h, w["ffn_up.weight"][:n], w["ffn_up.weight"][n:], w["ffn_down.weight"])
        else:
            y = glu(h, w["ffn_gate.weight"], w["ffn_up.weight"], w["ffn_down.weight"], act)
        if "post_ffw_norm.weight" in w:
            y = norms(y, w["post_ffw_norm.weight"], eps)
        xs = plus(xs, y)
    logits = linear(norms(xs, t["output_norm.weight"], eps), t.get("output.weight", t["token_embd.weight"]))
    if arch == "gemma2":
        cap = k["final_logit_softcapping"]
        logits = [[cap * math.tanh(a / cap) for a in x] for x in logits]
    return logits


def main():
    print("/* Made by golden.py: of every shape with F32 weights, the logits 0 to 2 after tokens 0, 13 and 27.")
    print(" * Make it anew after a change of make_random.c or random_specs.c. */")
    print("static const struct golden {\n    const char *family;\n    int shape;\n    double logit[9];\n} goldens[] = {")
    for family, n in SHAPES.items():
        for i in range(n):
            with tempfile.NamedTemporaryFile(suffix=".gguf") as f:
                tokens = [int(a) for a in subprocess.check_output([sys.argv[1], family, str(i), f.name, "f32"]).split()]
                logits = forward(*read(f.name), tokens)
            row = ", ".join("%.6f" % a for p in (0, 13, 27) for a in logits[p][:3])
            print('    { "%s", %d, { %s } },' % (family, i, row), flush=True)
    print("};")


main()
