/* The roofline chart: geometry, frame, labels that keep apart, files, and what happens without
 * gnuplot. */
#include "../test.h"
#include "report/plan.h"
#include "report/svg.h"
#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- geometry ------------------------------------------------------------------------- */

/* A point of the box, u and v in -1..1 along and across. */
static void corner(const struct box *b, double u, double v, double *x, double *y)
{
    double a = b->angle * 3.14159265358979323846 / 180;
    *x = b->cx + u * b->hw * cos(a) + v * b->hh * sin(a);
    *y = b->cy - u * b->hw * sin(a) + v * b->hh * cos(a);
}

static struct box random_box(struct rng *r)
{
    return (struct box){ 100 * rng_uniform(r), 100 * rng_uniform(r), 2 + 30 * rng_uniform(r),
                         2 + 8 * rng_uniform(r),
                         rng_uniform(r) < 0.3 ? 0 : 180 * rng_uniform(r) - 90 };
}

/* Sampling one box's points against the other: the slow way to see an overlap. */
static bool sampled_overlap(const struct box *a, const struct box *b)
{
    for (int i = -20; i <= 20; i++)
        for (int k = -20; k <= 20; k++) {
            double x, y;
            corner(a, i / 20.0, k / 20.0, &x, &y);
            if (box_distance(b, x, y) <= 0)
                return true;
        }
    return false;
}

static void test_boxes(void **state)
{
    (void)state;
    struct rng r;
    rng_init(&r, 1);
    int overlaps = 0, missed = 0;
    for (int i = 0; i < 4000; i++) {
        struct box a = random_box(&r), b = random_box(&r);
        bool slow = sampled_overlap(&a, &b) || sampled_overlap(&b, &a);
        overlaps += slow;
        if (slow)
            assert_true(box_overlaps(&a, &b));
        else
            missed += box_overlaps(&a, &b); /* slivers between the samples */
    }
    assert_in_range(overlaps, 400, 3600);
    assert_in_range(missed, 0, 40);
}

static void test_segments(void **state)
{
    (void)state;
    struct rng r;
    rng_init(&r, 2);
    int hits = 0;
    for (int i = 0; i < 4000; i++) {
        struct box a = random_box(&r);
        struct segment s = { 100 * rng_uniform(&r), 100 * rng_uniform(&r), 100 * rng_uniform(&r),
                             100 * rng_uniform(&r) };
        bool slow = false, near = false;
        for (int k = 0; k <= 400; k++) {
            double d = box_distance(&a, s.x0 + k / 400.0 * (s.x1 - s.x0),
                                    s.y0 + k / 400.0 * (s.y1 - s.y0));
            slow |= d <= 0;
            near |= d < 0.5;
        }
        hits += slow;
        if (slow)
            assert_true(box_hits_segment(&a, &s));
        if (!near)
            assert_false(box_hits_segment(&a, &s));
    }
    assert_in_range(hits, 200, 3800);
}

static void test_text(void **state)
{
    (void)state;
    char s[64] = "ffn_gate, ffn_up, ffn_down", line[3][WRAP_LINE];
    bool cut;
    assert_true(fabs(text_width_px("MMMM", 10) - 4 * 8.7) < 1e-9);
    assert_true(text_width_px("\xc3\xbc", 10) == 10);
    text_fit(s, 12, 100);
    assert_true(text_width_px(s, 12) <= 100);
    assert_string_equal(s + strlen(s) - 3, "...");
    assert_int_equal(wrap_text("attn_q, attn_k, attn_v", 12, 100, line, 3, &cut), 2);
    assert_string_equal(line[0], "attn_q, attn_k,");
    assert_string_equal(line[1], "attn_v");
    assert_false(cut);
    assert_int_equal(wrap_text("one two three four five six seven eight", 12, 60, line, 3, &cut),
                     3);
    assert_true(cut);
    assert_int_equal(wrap_text("", 12, 60, line, 3, &cut), 0);
    assert_int_equal(label_stem("ffn_down.12"), 8);
    assert_int_equal(label_stem("tg128"), 5);
}

/* ---- frame ------------------------------------------------------------------------------- */

static const struct chart_roof h100[] = {
    { .label = "memory 3.35 TB/s", .bytes_s = 3.35e12, .flop_s = NAN, .spec = true },
    { .label = "FP16 989 TFLOP/s", .bytes_s = NAN, .flop_s = 989e12, .spec = true },
};

static void test_frame(void **state)
{
    (void)state;
    struct error err;
    struct frame f = { 0 };
    assert_ok(frame_from_roofs(&f, h100, 2, &err), err);
    assert_true(fabs(f.x_lo - 0.05) < 1e-12); /* ridge 295, / 64 = 4.6: the fixed floor is lower */
    assert_true(f.x_hi == 1e4);               /* 295 * 64 = 18,900: nearest decade */
    assert_true(f.y_lo == 1e11 && f.y_hi == 1e16);
    struct chart_roof bad = { .label = "bad", .bytes_s = NAN, .flop_s = NAN };
    assert_fails(frame_from_roofs(&f, &bad, 1, &err), err, "roof \"bad\"");
    bad.flop_s = -1;
    assert_fails(frame_from_roofs(&f, &bad, 1, &err), err, "roof \"bad\"");
    assert_fails(frame_from_roofs(&f, h100, 0, &err), err, "no roof");
}

static void set_point(struct chart_point *q, const char *label, double ai, double flop_s,
                      const char *phase)
{
    *q = (struct chart_point){ .ai = ai, .flop_s = flop_s, .weight = NAN };
    snprintf(q->label, sizeof q->label, "%s", label);
    snprintf(q->phase, sizeof q->phase, "%s", phase);
}

static struct roofline_chart make_chart(struct chart_roof *roof, size_t n_roof,
                                        struct chart_point *point, size_t n)
{
    struct roofline_chart c = { .roof = roof, .n_roof = n_roof, .point = point, .n_point = n };
    snprintf(c.title, sizeof c.title, "title");
    snprintf(c.subtitle, sizeof c.subtitle, "subtitle");
    return c;
}

/* What a test of a plan holds. */
struct planned {
    struct plan plan;
    struct roofline_chart chart;
    struct chart_roof roof[2];
    struct strbuf notes;
};

/* The plan of these points under the roofs of an H100. */
static void plan_h100(struct planned *t, struct chart_point *point, size_t n)
{
    struct error err;
    *t = (struct planned){ .roof = { h100[0], h100[1] } };
    t->chart = make_chart(t->roof, 2, point, n);
    assert_ok(plan_roofline(&t->plan, &t->chart, &t->notes, &err), err);
}

static void planned_free(struct planned *t)
{
    plan_free(&t->plan);
    strbuf_free(&t->notes);
}

/* Points change neither axis; those outside are named and keep their place; ridge and angle are
 * true. */
static void test_plan(void **state)
{
    (void)state;
    struct planned t;
    struct chart_point pt[4];
    set_point(&pt[0], "inside", 1, 3e12, "decode");
    set_point(&pt[1], "far", 1e7, 1e14, "prefill");
    set_point(&pt[2], "slow", 1, 1e6, "decode");
    set_point(&pt[3], "still", 0, 0, "decode");
    plan_h100(&t, pt, 4);
    const struct plan *p = &t.plan;
    assert_true(fabs(p->frame.x_lo - 0.05) < 1e-12 && p->frame.x_hi == 1e4);
    assert_true(p->frame.y_lo == 1e11 && p->frame.y_hi == 1e16);
    assert_true(p->in_frame[0] && !p->in_frame[1] && !p->in_frame[2] && !p->in_frame[3]);
    assert_non_null(strstr(t.notes.s, "outside the frame: far (prefill)"));
    assert_non_null(strstr(t.notes.s, "outside the frame: slow (decode)"));
    assert_non_null(strstr(t.notes.s, "No FLOP, so no place on these axes: still"));
    assert_null(strstr(t.notes.s, "inside"));
    assert_int_equal(p->n_ridge, 1);
    assert_true(fabs(p->ridge_ai[0] - 989 / 3.35) < 1e-9);
    double slope = atan2((p->frame.bottom - p->frame.top) / log10(p->frame.y_hi / p->frame.y_lo),
                         (p->frame.right - p->frame.left) / log10(p->frame.x_hi / p->frame.x_lo));
    bool found = false;
    for (size_t i = 0; i < p->n_text; i++)
        if (strcmp(p->text[i].text, h100[0].label) == 0) {
            found = true;
            assert_true(fabs(p->text[i].angle - slope * 180 / 3.14159265358979323846) <= 0.5);
        }
    assert_true(found);
    planned_free(&t);
}

/* Measured roofs make the envelope; a datasheet roof above them stays thin and dashed. */
static void test_envelope(void **state)
{
    (void)state;
    struct error err;
    struct plan p;
    struct strbuf notes = { 0 };
    struct chart_roof roof[] = {
        { .label = "DRAM 40 GB/s", .bytes_s = 40e9, .flop_s = NAN },
        { .label = "L1 600 GB/s", .bytes_s = 600e9, .flop_s = NAN },
        { .label = "memory 51 GB/s", .bytes_s = 51e9, .flop_s = NAN, .spec = true },
        { .label = "FP32 300 GFLOP/s", .bytes_s = NAN, .flop_s = 300e9 },
        { .label = "INT8 spec 2 TOP/s", .bytes_s = NAN, .flop_s = 2e12, .spec = true },
    };
    struct roofline_chart c = make_chart(roof, 5, NULL, 0);
    assert_ok(plan_roofline(&p, &c, &notes, &err), err);
    assert_true(!p.roof[0].strong && p.roof[1].strong && !p.roof[2].strong && p.roof[3].strong &&
                !p.roof[4].strong);
    assert_true(fabs(p.roof[1].ai1 - 0.5) < 1e-9); /* ends at the measured peak */
    assert_true(fabs(p.roof[3].ai0 - 0.5) < 1e-9); /* starts where L1 reaches it */
    assert_true(p.roof[4].spec && p.roof[2].spec);
    assert_int_equal(p.n_ridge, 2); /* both measured memories with the measured peak */
    plan_free(&p);
    strbuf_free(&notes);
}

/* ---- labels ---------------------------------------------------------------------------------- */

static struct box plan_text_box(const struct plan_text *t)
{
    double w = text_width_px(t->text, t->size_px), a = t->angle * 3.14159265358979323846 / 180;
    double along = t->align == 'l' ? w / 2 : t->align == 'r' ? -w / 2 : 0;
    return text_box(t->x + along * cos(a), t->y - along * sin(a), w, 1, t->size_px, t->angle);
}

static void check_plan(const struct plan *p, const struct roofline_chart *c)
{
    const struct frame *f = &p->frame;
    for (size_t i = 0; i < p->n_text; i++) {
        struct box a = plan_text_box(&p->text[i]);
        if (!box_inside(&a, 0, 0, f->width, f->height))
            fail_msg("\"%s\" leaves the picture", p->text[i].text);
        if (p->text[i].in_plot && !box_inside(&a, f->left, f->top, f->right, f->bottom))
            fail_msg("\"%s\" leaves the plot", p->text[i].text);
        for (size_t j = i + 1; j < p->n_text; j++) {
            struct box b = plan_text_box(&p->text[j]);
            if (box_overlaps(&a, &b))
                fail_msg("\"%s\" overlaps \"%s\"", p->text[i].text, p->text[j].text);
        }
        for (size_t j = 0; j < c->n_point; j++)
            if (p->in_frame[j] && box_distance(&a, frame_px(f, c->point[j].ai),
                                               frame_py(f, c->point[j].flop_s)) < p->radius_px[j])
                fail_msg("\"%s\" lies on point \"%s\"", p->text[i].text, c->point[j].label);
    }
}

/* Each number stands once in the plot and once in the table, in the same colour. */
static void check_numbers(const struct plan *p)
{
    for (size_t i = 0; i < p->n_text; i++) {
        const struct plan_text *t = &p->text[i];
        if (!t->in_plot || (t->role != TEXT_DECODE && t->role != TEXT_PREFILL) || strspn(t->text, "0123456789") != strlen(t->text))
            continue; /* a name */
        int in_plot = 0, in_table = 0;
        for (size_t j = 0; j < p->n_text; j++)
            if (strcmp(p->text[j].text, t->text) == 0 && p->text[j].role == t->role)
                *(p->text[j].in_plot ? &in_plot : &in_table) += 1;
        if (in_plot != 1 || (in_table != 1 && !p->key_full))
            fail_msg("number %s: %d times in the plot, %d times in the table", t->text, in_plot,
                     in_table);
    }
}

static double label_distance(const struct plan *p, const struct roofline_chart *c, const struct plan_text *t, size_t i)
{
    const struct box b = plan_text_box(t);
    return box_distance(&b, frame_px(&p->frame, c->point[i].ai), frame_py(&p->frame, c->point[i].flop_s));
}

static double points_apart(const struct plan *p, const struct roofline_chart *c, size_t i, size_t j)
{
    return hypot(frame_px(&p->frame, c->point[i].ai) - frame_px(&p->frame, c->point[j].ai),
                 frame_py(&p->frame, c->point[i].flop_s) - frame_py(&p->frame, c->point[j].flop_s));
}

/* No point of its phase is near enough to share its label. */
static bool stands_alone(const struct plan *p, const struct roofline_chart *c, size_t i)
{
    for (size_t j = 0; j < c->n_point; j++)
        if (j != i && p->in_frame[j] && strcmp(c->point[i].phase, c->point[j].phase) == 0 && points_apart(p, c, i, j) < 60)
            return false;
    return true;
}

static bool has_leader(const struct plan *p, const struct roofline_chart *c, size_t i)
{
    for (size_t l = 0; l < p->n_leader; l++)
        if (hypot(p->leader[l].x0 - frame_px(&p->frame, c->point[i].ai), p->leader[l].y0 - frame_py(&p->frame, c->point[i].flop_s)) < 20)
            return true;
    return false;
}

/* The label of a point that shares it with none, and has no line to it, stands nearer to no other point. Returned: how many there are. */
static int check_nearest(const struct plan *p, const struct roofline_chart *c)
{
    int checked = 0;
    for (size_t t = 0; t < p->n_text; t++)
        for (size_t own = 0; own < c->n_point; own++) {
            const struct plan_text *text = &p->text[t];
            if (!p->in_frame[own] || !text->in_plot || strcmp(text->text, c->point[own].label) != 0 ||
                phase_role(c->point[own].phase) != text->role || !stands_alone(p, c, own) || has_leader(p, c, own))
                continue;
            checked++;
            for (size_t i = 0; i < c->n_point; i++)
                if (p->in_frame[i] && label_distance(p, c, text, i) < label_distance(p, c, text, own) && points_apart(p, c, i, own) > 0.5)
                    fail_msg("\"%s\" (%s) stands nearer to \"%s\" (%s)", c->point[own].label, c->point[own].phase, c->point[i].label,
                             c->point[i].phase);
        }
    return checked;
}

/* Machines and point clouds of every density: nothing overlaps, and every point in the frame is
 * named. */
static void test_random_charts(void **state)
{
    (void)state;
    struct error err;
    struct rng r;
    struct chart_point pt[160];
    struct chart_roof roof[8];
    rng_init(&r, 3);
    int numbered = 0, nearest = 0;
    for (int chart = 0; chart < 150; chart++) {
        size_t n_roof = 2 + rng_u64(&r) % 7, n = rng_u64(&r) % (chart < 100 ? 24 : 160);
        for (size_t i = 0; i < n_roof; i++) {
            bool mem = i % 2 == 0;
            roof[i] =
                (struct chart_roof){ .bytes_s = mem ? 1e10 * pow(10, 2 * rng_uniform(&r)) : NAN,
                                     .flop_s = mem ? NAN : 1e11 * pow(10, 2 * rng_uniform(&r)),
                                     .spec = rng_uniform(&r) < 0.2 };
            snprintf(roof[i].label, sizeof roof[i].label, "%s roof number %zu",
                     mem ? "memory" : "compute", i);
        }
        double spread = chart % 3 == 0 ? 0.02 : chart % 3 == 1 ? 0.5 : 3;
        for (size_t i = 0; i < n; i++) {
            char label[48];
            snprintf(label, sizeof label, "role_%zu.%zu", i % 18, i);
            set_point(&pt[i], label, pow(10, spread * rng_uniform(&r)),
                      1e9 * pow(10, 0.7 * spread * rng_uniform(&r)), i % 2 ? "decode" : "prefill");
            pt[i].weight = rng_uniform(&r) < 0.5 ? NAN : rng_uniform(&r) / 4;
            pt[i].predicted = rng_uniform(&r) < 0.3;
        }
        struct roofline_chart c = make_chart(roof, n_roof, pt, n);
        struct plan p;
        struct strbuf notes = { 0 };
        assert_ok(plan_roofline(&p, &c, &notes, &err), err);
        check_plan(&p, &c);
        if (notes.s && strstr(notes.s, "no room for the labels of"))
            fail_msg("chart %d: points without labels", chart);
        if (p.numbered)
            check_numbers(&p);
        numbered += p.numbered;
        if (spread > 2)
            nearest += check_nearest(&p, &c);
        plan_free(&p);
        strbuf_free(&notes);
    }
    assert_in_range(numbered, 10, 140); /* both ways of labelling were tried */
    assert_true(nearest > 20);
}

/* A few points keep their names in the plot; equal ones share a label. */
static void test_names(void **state)
{
    (void)state;
    struct planned t;
    struct chart_point pt[4];
    set_point(&pt[0], "attn_q", 1, 2e12, "decode");
    set_point(&pt[1], "attn_k", 1.001, 2e12, "decode");
    set_point(&pt[2], "ffn_up", 100, 2e14, "prefill");
    set_point(&pt[3], "lm_head", 1, 2e12, "prefill");
    plan_h100(&t, pt, 4);
    const struct plan *p = &t.plan;
    check_plan(p, &t.chart);
    assert_false(p->numbered);
    int both = 0, up = 0, head = 0;
    for (size_t i = 0; i < p->n_text; i++) {
        both += strcmp(p->text[i].text, "attn_q, attn_k") == 0 && p->text[i].role == TEXT_DECODE;
        up += strcmp(p->text[i].text, "ffn_up") == 0;
        head += strcmp(p->text[i].text, "lm_head") == 0 && p->text[i].role == TEXT_PREFILL;
    }
    assert_int_equal(both, 1);
    assert_int_equal(up, 1);
    assert_int_equal(head, 1);
    planned_free(&t);
}

/* A point above its roof says so; roofs of another machine bound others' points. */
static void test_above(void **state)
{
    (void)state;
    struct error err;
    struct plan p;
    struct strbuf notes = { 0 };
    struct chart_point pt[3];
    struct chart_roof roof[4] = {
        { .label = "a memory", .bytes_s = 1e11, .flop_s = NAN }, { .label = "a peak", .bytes_s = NAN, .flop_s = 1e12 },
        { .label = "b memory", .bytes_s = 4e11, .flop_s = NAN, .machine = 1 }, { .label = "b peak", .bytes_s = NAN, .flop_s = 4e12, .machine = 1 },
    };
    set_point(&pt[0], "above", 1, 1.2e11, "decode");
    set_point(&pt[1], "of b", 5, 1.2e12, "decode");
    pt[1].machine = 1;
    set_point(&pt[2], "below", 100, 9.9e11, "prefill");
    struct roofline_chart c = make_chart(roof, 4, pt, 3);
    assert_ok(plan_roofline(&p, &c, &notes, &err), err);
    check_plan(&p, &c);
    int above = 0, named = 0;
    for (size_t i = 0; i < p.n_text; i++) {
        above += strcmp(p.text[i].text, "above (120 % of the roof)") == 0;
        named += strcmp(p.text[i].text, "of b") == 0 || strcmp(p.text[i].text, "below") == 0;
    }
    assert_int_equal(above, 1);
    assert_int_equal(named, 2);
    assert_int_equal(p.n_ridge, 2); /* one a machine */
    plan_free(&p);
    strbuf_free(&notes);
}

/* ---- files
 * --------------------------------------------------------------------------------------- */

static char dir[4096], style[4200], base[4200], original_path[8192];

static int make_dir(void **state)
{
    (void)state;
    const char *tmp = getenv("TMPDIR"), *data = getenv("ROOFCAST_DATA"), *path = getenv("PATH");
    snprintf(dir, sizeof dir, "%s/roofcast-chart-XXXXXX", tmp ? tmp : "/tmp");
    snprintf(style, sizeof style, "%s/reports/charts/roofline.gp", data ? data : ".");
    snprintf(original_path, sizeof original_path, "%s", path ? path : "");
    if (!mkdtemp(dir))
        return -1;
    snprintf(base, sizeof base, "%s/a chart's", dir);
    return 0;
}

static int remove_dir(void **state)
{
    (void)state;
    char cmd[4200];
    setenv("PATH", original_path, 1);
    snprintf(cmd, sizeof cmd, "rm -rf '%s'", dir);
    return system(cmd);
}

static int draw(struct strbuf *notes, struct error *err)
{
    struct chart_point pt[2];
    struct chart_roof roof[2] = { h100[0], h100[1] };
    set_point(&pt[0], "it's <a> & \"b\"\t\xff", 1, 2e12, "decode");
    set_point(&pt[1], "ffn_up", 100, 2e14, "prefill");
    struct roofline_chart c = make_chart(roof, 2, pt, 2);
    c.style = style;
    return chart_roofline(&c, base, notes, err);
}

static bool have(const char *ext)
{
    char path[4300];
    snprintf(path, sizeof path, "%s%s", base, ext);
    return file_exists(path);
}

static void drop(const char *ext)
{
    char path[4300];
    snprintf(path, sizeof path, "%s%s", base, ext);
    unlink(path);
}

/* A program called gnuplot that does this instead. */
static void fake_gnuplot(const char *script)
{
    char path[4300];
    snprintf(path, sizeof path, "%s/bin", dir);
    mkdir(path, 0777);
    setenv("PATH", path, 1);
    snprintf(path, sizeof path, "%s/bin/gnuplot", dir);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fprintf(f, "#!/bin/sh\nPATH=/usr/bin:/bin\n%s\n", script);
    fclose(f);
    chmod(path, 0755);
}

static void test_without_gnuplot(void **state)
{
    (void)state;
    struct error err = { 0 };
    struct strbuf notes = { 0 };
    setenv("PATH", dir, 1);
    assert_fails(draw(&notes, &err), err, "gnuplot was not found");
    assert_int_equal(err.kind, ERROR_UNAVAILABLE);
    assert_true(have(".tsv") && have(".roofs.tsv") && have(".gp"));
    assert_false(have(".svg") || have(".png"));
    setenv("PATH", original_path, 1);
    strbuf_free(&notes);
}

static void test_failing_gnuplot(void **state)
{
    (void)state;
    struct error err = { 0 };
    struct strbuf notes = { 0 };
    fake_gnuplot("echo 'line 3: invalid command' >&2; exit 2");
    assert_fails(draw(&notes, &err), err, "line 3: invalid command");
    assert_int_equal(err.kind, ERROR_SYSTEM);
    fake_gnuplot("exit 0");
    assert_fails(draw(&notes, &err), err, "no picture");
    /* What a disk that fills up leaves: half a picture, and no complaint. */
    fake_gnuplot(
        "cd \"$(dirname \"$0\")/..\"\n"
        "svg=$(printf '%s\\n' \"$@\" | sed -n \"s/^svg = '\\(.*\\)'$/\\1/p\" | sed \"s/''/'/g\")\n"
        "head -c 500 /dev/zero | tr '\\0' 'x' > \"$svg\"");
    assert_fails(draw(&notes, &err), err, "incomplete picture");
    assert_false(have(".svg") || have(".png"));
    fake_gnuplot("kill -9 $$");
    assert_fails(draw(&notes, &err), err, "signal 9");
    setenv("PATH", original_path, 1);
    strbuf_free(&notes);
}

static char *slurp(const char *ext, size_t *n)
{
    char path[4300];
    struct error err;
    struct filemap m;
    snprintf(path, sizeof path, "%s%s", base, ext);
    assert_ok(filemap_open(&m, path, &err), err);
    char *s = malloc(m.size + 1);
    assert_non_null(s);
    memcpy(s, m.data, m.size);
    s[m.size] = 0;
    *n = m.size;
    filemap_close(&m);
    return s;
}

static void test_same_bytes(void **state)
{
    (void)state;
    static const char *const ext[] = { ".tsv", ".roofs.tsv", ".gp", ".svg", ".png" };
    struct error err = { 0 };
    struct strbuf notes = { 0 };
    char *first[5];
    size_t n[5];
    if (draw(&notes, &err) != 0) {
        strbuf_free(&notes);
        if (err.kind != ERROR_UNAVAILABLE)
            fail_msg("%s", err.msg);
        print_message("# %s\n", err.msg);
        skip();
    }
    for (int i = 0; i < 5; i++) {
        first[i] = slurp(ext[i], &n[i]);
        drop(ext[i]);
    }
    assert_non_null(
        strstr(first[3], "it's &lt;a> &amp; \"b\" ?")); /* text survives, control bytes do not */
    assert_ok(draw(&notes, &err), err);
    for (int i = 0; i < 5; i++) {
        size_t m;
        char *again = slurp(ext[i], &m);
        assert_int_equal(m, n[i]);
        assert_memory_equal(again, first[i], m);
        free(again);
        free(first[i]);
    }
    strbuf_free(&notes);
}

static void test_bad_names(void **state)
{
    (void)state;
    struct error err;
    struct strbuf notes = { 0 };
    struct chart_roof roof[2] = { h100[0], h100[1] };
    struct roofline_chart c = make_chart(roof, 2, NULL, 0);
    c.style = style;
    assert_fails(chart_roofline(&c, "some/dir/", &notes, &err), err, "expected a file name");
    assert_fails(chart_roofline(&c, "a\nb", &notes, &err), err, "control character");
    assert_fails(chart_roofline(&c, "/nonexistent/dir/x", &notes, &err), err, "cannot write");
    c.style = "/nonexistent/style.gp";
    assert_fails(chart_roofline(&c, base, &notes, &err), err, "/nonexistent/style.gp");
    c.style = "/dev/null";
    assert_fails(chart_roofline(&c, base, &notes, &err), err, "/dev/null");
    strbuf_free(&notes);
}

/* Points outside the frame have their names at its edge, with an arrow that ends there. */
static void test_edges(void **state)
{
    (void)state;
    struct planned t;
    struct chart_point pt[4];
    set_point(&pt[0], "far_left", 1e-4, 2e12, "decode");
    set_point(&pt[1], "below", 3, 1e3, "prefill");
    set_point(&pt[2], "below_too", 3.05, 2e3, "prefill");
    set_point(&pt[3], "inside", 1, 2e12, "decode");
    plan_h100(&t, pt, 4);
    const struct plan *p = &t.plan;
    check_plan(p, &t.chart);
    assert_int_equal(p->n_edge, 2);
    assert_float_equal(p->edge[0].x1, p->frame.left, 1e-9);
    assert_float_equal(p->edge[1].y1, p->frame.bottom, 1e-9);
    int named = 0;
    for (size_t i = 0; i < p->n_text; i++)
        if (p->text[i].in_plot && strcmp(p->text[i].text, "far_left") == 0)
            named += fabs(p->text[i].x - p->frame.left) < 80;
        else if (p->text[i].in_plot && strcmp(p->text[i].text, "below, below_too") == 0)
            named += fabs(p->text[i].y - p->frame.bottom) < 40;
    assert_int_equal(named, 2);
    planned_free(&t);
}

/* What a page refuses is gone, a series keeps its name, a marker has its tooltip, nothing of an empty series is left. */
static void test_svg(void **state)
{
    (void)state;
    static const char svg[] =
        "<?xml version=\"1.0\"?>\n<svg viewBox=\"0 0 10 10\" onload='x()'>\n<title>Gnuplot</title>\n<desc>by gnuplot</desc>\n<script>bad()</script>"
        "<g id=\"gnuplot_plot_1\" ><title>a &lt;b></title>\n<g fill=\"none\">\n</g>\n"
        "<use xlink:href='#gpPt11' transform='translate(3.00,4.25) scale(4)' color='rgb(  0, 114, 178)'/>"
        "<polygon style=\"fill: red; stroke:blue\" points = '1,1 3,1 3,2 1,2'/><polygon points = '1,-5 3,-5 3,-4 1,-4'/></g>\n"
        "<g id=\"gnuplot_plot_2\" ><title>empty</title>\n<g fill=\"none\">\n</g></g>\n<text onclick=\"y\">t</text></svg>\n";
    const struct svg_tip tips[] = { { 3.2, 4, "x & <y>" }, { 3, 9, "elsewhere" }, { 2, 1.5, "box" } };
    const struct svg_about about = { "T \"1\"", "D", "css", tips, ARRAY_LEN(tips) };
    struct strbuf out = { 0 };
    struct error err;
    assert_ok(svg_finish(&out, svg, sizeof svg - 1, &about, &err), err);
    assert_string_equal(out.s,
        "<?xml version=\"1.0\"?>\n<svg viewBox=\"0 0 10 10\" role=\"img\" aria-label=\"T &quot;1&quot;\">\n<title>T &quot;1&quot;</title>\n<desc>D</desc>\n"
        "<style>css</style>\n<g id=\"gnuplot_plot_1\"><title>a &lt;b></title>\n"
        "<use xlink:href=\"#gpPt11\" transform=\"translate(3.00,4.25) scale(4)\" color=\"#0072b2\"><title>x &amp; &lt;y&gt;</title></use>"
        "<polygon fill=\"red\" stroke=\"blue\" points=\"1,1 3,1 3,2 1,2\"><title>box</title></polygon></g>\n<text>t</text></svg>\n");
    strbuf_free(&out);
    assert_fails(svg_finish(&out, "<svg>", 5, &about, &err), err, "expected an SVG of gnuplot");
    assert_fails(svg_finish(&out, "<svg></svg><use \"", 17, &about, &err), err, "byte 11 does not end");
    strbuf_free(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_boxes),
        cmocka_unit_test(test_segments),
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_frame),
        cmocka_unit_test(test_plan),
        cmocka_unit_test(test_envelope),
        cmocka_unit_test(test_random_charts),
        cmocka_unit_test(test_names), cmocka_unit_test(test_above),
        cmocka_unit_test(test_without_gnuplot),
        cmocka_unit_test(test_failing_gnuplot),
        cmocka_unit_test(test_edges),
        cmocka_unit_test(test_svg),
        cmocka_unit_test(test_same_bytes),
        cmocka_unit_test(test_bad_names),
    };
    return cmocka_run_group_tests_name("chart", tests, make_dir, remove_dir);
}
