# Puts together bands.tsv, instructions.tsv, what oracle printed (rows) and what callgrind dumped; tests/oracle/check.sh.
BEGIN { FS = "\t"; split("cost dram d1", measures, " ") }
FNR == 1 { n = split(FILENAME, path, "/"); run = path[n - 1]; file = path[n]; name = "" }
file == "bands.tsv" { if ($1 !~ /^#/) { ++n_band; b_run[n_band] = $1; b_op[n_band] = $2; band["cost", n_band] = $3; band["dram", n_band] = $4; band["d1", n_band] = $5 } next }
file == "instructions.tsv" { if ($1 == compiler) { known[$2] = $4; n_known++ } next }
file == "rows" {
    if ($1 == "# line") line[run] = $2
    if ($1 !~ /^#/) { id = run SUBSEP $1; order[++n_op] = id; run_of[n_op] = run; op[n_op] = $1; weights[id] = $2; cost[id] = $3; d1_says[id] = $4; dram_says[id] = $5 + $6 }
    next
}
# Ir Dr Dw I1mr D1mr D1mw ILmr DLmr DLmw ILdmr DLdmr DLdmw
/^desc: D1 cache: / { split($0, w, /[ ,]+/); line[run] = w[6] }
/^desc: Trigger: Client Request: / { name = substr($0, 32) }
/^totals: / && name != "" {
    split($0, c, " ")
    id = run SUBSEP name
    ir[id] = c[2]; d1_miss[id] = c[6] + c[7]; ll_read[id] = c[9]; ll_write[id] = c[10]; dirty[id] = c[11] + c[12] + c[13]
    name = ""
}
function percent(is, says) { return says > 0 ? 100 * (is / says - 1) : 999 }
function compare(what, i, is, says,    k, b, d) {
    for (k = 1; k <= n_band && !(b_run[k] == run_of[i] && op[i] ~ b_op[k]); k++) ;
    if (k > n_band) { printf "FAIL: oracle: bands.tsv has no line for %s of %s\n", op[i], run_of[i]; return }
    b = band[what, k]
    if (b == "-") return
    d = percent(is, says)
    group = what (run_of[i] ~ /^small/ ? " small" : "")
    if (++n_in[group] == 1 || (d < 0 ? -d : d) > worst[group]) { worst[group] = d < 0 ? -d : d; worst_op[group] = op[i] }
    if (d > b + 0 || d < -b) { printf "FAIL: oracle: %s (%s): %s is %.0f bytes under callgrind, the model says %.0f: %+.2f %%, allowed %s %%\n", op[i], run_of[i], label[what], is, says, d, b; bad[group]++ }
}
function verdict(group, text) {
    if (!n_in[group]) { printf "FAIL: oracle: nothing was compared for %s\n", text; return }
    if (!bad[group]) printf "PASS: oracle: %s: %d ops, the farthest off %.2f %% (%s)\n", text, n_in[group], worst[group], worst_op[group]
}
END {
    label["cost"] = "what cost.c counts"; label["dram"] = "DRAM"; label["d1"] = "what the first cache fetches"
    for (i = 1; i <= n_op; i++) {
        id = run_of[i] SUBSEP op[i]; left = run_of[i] SUBSEP op[i] ": left"; l = line[run_of[i]]
        written = l * (dirty[id] + dirty[left])
        once = l * ll_read[id] + written; all = once + l * ll_write[id]; fetched = l * d1_miss[id]
        compare("cost", i, once, cost[id]); compare("dram", i, all, dram_says[id]); compare("d1", i, fetched, d1_says[id])
        a_weight = weights[id] + 0 ? sprintf("%.5f", ir[id] / weights[id]) : "-"
        if (table) printf "%-14s %-20s %10d instructions, %7s a weight | cost.c %+7.2f %% | DRAM %9.0f KiB %+7.2f %% | first cache %9.0f KiB %+7.2f %%\n", run_of[i], op[i], ir[id], a_weight, percent(once, cost[id]), all / 1024, percent(all, dram_says[id]), fetched / 1024, percent(fetched, d1_says[id])
        if (run_of[i] ~ /^small/) continue
        printf "%s\t%s\t%d\t%d\t%s\n", compiler, op[i], weights[id], ir[id], a_weight >measured
        if (!n_known) continue
        if (!(op[i] in known)) { printf "FAIL: oracle: instructions.tsv has no %s for %s\n", op[i], compiler; bad_ir++; continue }
        d = percent(ir[id], known[op[i]]); n_ir++
        # A changed instruction of an inner loop is more than that; where the stack begins is less.
        if (d > 0.02 || d < -0.02) { printf "FAIL: oracle: %s: %d instructions, recorded %d (%+.3f %%): if that is meant, tests/oracle/check.sh --record\n", op[i], ir[id], known[op[i]], d; bad_ir++ }
    }
    verdict("cost", "DRAM bytes under callgrind and by cost.c, 1 MiB of cache")
    verdict("dram", "DRAM bytes under callgrind and by levels.c, 1 MiB of cache")
    verdict("d1", "bytes into a first cache of 48 KiB")
    verdict("dram small", "DRAM bytes, 256 KiB of cache")
    verdict("d1 small", "bytes into a first cache of 24 KiB")
    if (!n_known) printf "SKIP: oracle: no instructions are recorded for \"%s\" (tests/oracle/check.sh --record)\n", compiler
    else if (!bad_ir) printf "PASS: oracle: instructions of %d ops as recorded for %s\n", n_ir, compiler
}
