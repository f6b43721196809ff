# Reads the table of mutants; the head of mutants.txt describes its form.
#   awk -v mode=check -v root=DIR -f table.awk mutants.txt                  tries every row on the files of DIR; a line a fault
#   awk -v mode=names -f table.awk mutants.txt                              names of all mutants
#   awk -v mode=tests -v name=NAME -f table.awk mutants.txt                 tests that kill the mutant NAME
#   awk -v mode=files -v name=NAME -f table.awk mutants.txt                 files that it changes
#   awk -v mode=apply -v name=NAME -v root=DIR -f table.awk mutants.txt     makes the mistake in the files of DIR
# Exit status 1: a fault was found, or there is no mutant NAME.

function trim(s) {
    sub(/^[ \t]+/, "", s)
    sub(/[ \t\r]+$/, "", s)
    return s
}
function fault(text) {
    if (mode == "check" || mode == "apply") print FILENAME ":" (row ? row : FNR) ": " (mutant == "" ? "" : mutant ": ") text
    faults++
}

# Files: text[f, i] is line i of file f, bare[f, i] without the space around it, lines[f] their number (-1: no such file).

function load(f,    n, line, more) {
    if (f in lines) return lines[f]
    n = 0
    while ((more = (getline line < (root "/" f))) > 0) set_line(f, ++n, line)
    if (more < 0) return lines[f] = -1
    close(root "/" f)
    return lines[f] = n
}
function set_line(f, i, line) {
    text[f, i] = line
    bare[f, i] = trim(line)
}
function save(f,    i) {
    for (i = 1; i <= lines[f]; i++) print text[f, i] > (root "/" f)
    close(root "/" f)
}

# The last line of the function or macro whose head is line i of f; 0 when that line defines nothing.
function definition_end(f, i,    line) {
    if (text[f, i] ~ /^#/) {
        while (text[f, i] ~ /\\$/) i++
        return i
    }
    while (i < lines[f] && text[f, i] !~ /[;{]/) i++
    line = text[f, i]
    if (line !~ /^[^;]*[{]/) return 0
    if (gsub(/[{]/, "", line) == gsub(/[}]/, "", line)) return i
    while (i < lines[f] && text[f, i] !~ /^[}]/) i++
    return i
}

# Sets first[k] and last[k], the lines of each definition of fn in f ("-": the whole file); their number.
function find_function(f, fn,    i, k, end, head) {
    k = 0
    if (fn == "-") {
        first[1] = 1
        last[1] = lines[f]
        return 1
    }
    head = "^(#define +)?([A-Za-z_].*[^A-Za-z0-9_])?" fn "[(]"
    for (i = 1; i <= lines[f]; i++)
        if (index(text[f, i], fn "(") && text[f, i] ~ head && (end = definition_end(f, i))) {
            first[++k] = i
            last[k] = end
            i = end
        }
    return k
}

# Replaces the old text of change c by the new one. "", or why that cannot be done.
function replace(c,    f, fn, n_fn, k, i, j, at, shift) {
    f = file[c]
    fn = func_name[c]
    if (!n_old[c]) return "there is no \"-\" line before the \"+\" lines"
    if (load(f) < 0) return "there is no file " f
    n_fn = find_function(f, fn)
    if (!n_fn) return f " does not define " fn "()"
    at = 0
    for (k = 1; k <= n_fn; k++)
        for (i = first[k]; i + n_old[c] - 1 <= last[k]; i++) {
            for (j = 1; j <= n_old[c] && bare[f, i + j - 1] == trim(old[c, j]); j++) ;
            if (j <= n_old[c]) continue
            if (at) return f ": " fn " has the old text more than once: " trim(old[c, 1])
            at = i
        }
    if (!at) return f ": " fn " does not have the old text: " trim(old[c, 1])
    shift = n_new[c] - n_old[c]
    if (shift > 0) for (i = lines[f]; i >= at + n_old[c]; i--) set_line(f, i + shift, text[f, i])
    if (shift < 0) for (i = at + n_old[c]; i <= lines[f]; i++) set_line(f, i + shift, text[f, i])
    for (j = 1; j <= n_new[c]; j++) set_line(f, at + j - 1, new[c, j])
    lines[f] += shift
    changed[f] = 1
    return ""
}

# Is there the test t: a script, a program, or a case of a program ("program:case")?
function test_exists(t,    colon, f, i) {
    if (t in tests_known) return tests_known[t]
    colon = index(t, ":")
    f = t
    if (colon) f = substr(t, 1, colon - 1)
    if (t !~ /[.]sh$/) f = f ".c"
    tests_known[t] = load(f) >= 0 && !colon
    for (i = 1; colon && i <= lines[f]; i++)
        if (text[f, i] ~ ("[(]" substr(t, colon + 1) "[,)]")) tests_known[t] = 1
    return tests_known[t]
}

function check_row(    n, i, t, c, why, f) {
    if (mutant in names) fault("another mutant has this name")
    names[mutant] = 1
    if (mistake == "") fault("there is no \"mistake:\"")
    if (tests == "") fault("there is no \"killed by:\"")
    if (!changes) fault("there is no text to replace")
    n = split(tests, t, " ")
    for (i = 1; i <= n; i++) if (!test_exists(t[i])) fault("there is no test " t[i])
    for (c = 1; c <= changes; c++) {
        why = replace(c)
        if (why != "") fault(why)
    }
    for (f in changed) {
        delete lines[f] # the next row begins with the file as it is
        delete changed[f]
    }
}
function apply_row(    c, why, f) {
    for (c = 1; c <= changes; c++) {
        why = replace(c)
        if (why != "") fault(why)
    }
    if (!faults) for (f in changed) save(f)
}
function row_ends(    c) {
    if (mutant == "") return
    count++
    if (mode == "names") print mutant
    if (mode == "check") check_row()
    if (mode != "names" && mode != "check" && mutant == name) {
        found = 1
        if (mode == "tests") print tests
        if (mode == "files") for (c = 1; c <= changes; c++) if (c == 1 || file[c] != file[c - 1]) print file[c]
        if (mode == "apply") apply_row()
    }
    mutant = ""
}
function value() {
    return trim(substr($0, index($0, ":") + 1))
}

/^#/ || /^[ \t]*$/ { next }
/^name:/ {
    row_ends()
    row = FNR
    mutant = value()
    mistake = tests = in_file = in_function = kind = ""
    changes = 0
    next
}
mutant == "" { fault("a row begins with \"name:\""); next }
/^mistake:/ { mistake = value(); next }
/^killed by:/ { tests = value(); next }
/^file:/ { in_file = value(); kind = ""; next }
/^function:/ { in_function = value(); kind = ""; next }
/^[-+]( |$)/ {
    if (in_file == "" || in_function == "") { fault("\"file:\" and \"function:\" come before the text"); next }
    if (kind == "" || (kind == "+" && /^-/)) {
        file[++changes] = in_file
        func_name[changes] = in_function
        n_old[changes] = n_new[changes] = 0
    }
    kind = substr($0, 1, 1)
    if (kind == "-") old[changes, ++n_old[changes]] = substr($0, 3)
    else new[changes, ++n_new[changes]] = substr($0, 3)
    next
}
{ fault("line " FNR " is no field of a row: " $0) }
END {
    row_ends()
    row = 0
    if (mode == "check" && !faults) print count + 0
    exit faults > 0 || (name != "" && !found)
}
