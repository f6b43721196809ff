/* hardware.csv: bandwidth and peaks of machines, by the names of throughput.csv. */
#include "dataset/measure.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { C_NAME, C_CLASS, C_BW, C_FP32, C_FP16, C_INT8, C_FP8, C_SOURCE, C_COMMENT, N_COLUMN };
static const char *const columns[N_COLUMN] = { "hardware", "class", "mem_bw_gbs_per_device", "fp32_tflops",
                                               "fp16_bf16_tflops_dense", "int8_tops_dense", "fp8_tflops_dense",
                                               "spec_source", "comment" };

static int read_row(struct measure_hw *h, const struct csv *c, size_t i, const int *col, struct error *err)
{
    double *const to[] = { &h->bytes_s, &h->fp32, &h->fp16, &h->int8, &h->fp8 };
    *h = (struct measure_hw){ .hardware = csv_at(c, i, col[C_NAME])->s, .class_name = csv_at(c, i, col[C_CLASS])->s,
                              .spec_source = csv_at(c, i, col[C_SOURCE])->s, .comment = csv_at(c, i, col[C_COMMENT])->s };
    if (!*h->hardware)
        return csv_error(c, i, col[C_NAME], err, "expected the name of a machine, found nothing");
    for (int k = 0; k < 5; k++) {
        if (csv_to_number(csv_at(c, i, col[C_BW + k])->s) == 0)
            return csv_error(c, i, col[C_BW + k], err, "expected more than 0, found \"%.64s\": leave it blank if unknown",
                             csv_at(c, i, col[C_BW + k])->s);
        if (csv_number(c, i, col[C_BW + k], 1e-6, 1e9, false, to[k], err) != 0)
            return -1;
        *to[k] *= k == 0 ? 1e9 : 1e12;
    }
    return 0;
}

int measure_hws_parse(struct measure_hws *l, const char *name, const void *data, size_t size, struct error *err)
{
    int col[N_COLUMN];
    *l = (struct measure_hws){ 0 };
    if (csv_parse(&l->csv, name, data, size, err) != 0)
        return -1;
    for (int i = 0; i < N_COLUMN; i++)
        col[i] = csv_find(&l->csv, columns[i]);
    int rc = col[C_NAME] >= 0 && col[C_BW] >= 0
                 ? 0
                 : error_set(err, ERROR_INPUT, "%s: line 1, column 1: expected the columns of hardware.csv (hardware, "
                             "mem_bw_gbs_per_device, ...)", name);
    l->row = calloc(l->csv.n_row + 1, sizeof *l->row);
    if (rc == 0 && !l->row)
        rc = error_oom(err, l->csv.n_row * sizeof *l->row, "machines");
    for (size_t i = 0; i < l->csv.n_row && rc == 0; i++) {
        rc = read_row(&l->row[i], &l->csv, i, col, err);
        if (rc == 0 && measure_hws_find(l, l->row[i].hardware))
            rc = csv_error(&l->csv, i, col[C_NAME], err, "a second row of \"%.64s\"", l->row[i].hardware);
        l->n += rc == 0;
    }
    if (rc != 0)
        measure_hws_free(l);
    return rc;
}

int measure_hws_load(struct measure_hws *l, const char *path, struct error *err)
{
    struct filemap f;
    *l = (struct measure_hws){ 0 };
    if (filemap_open(&f, path, err) != 0)
        return -1;
    const int rc = measure_hws_parse(l, path, f.data, f.size, err);
    filemap_close(&f);
    return rc;
}

void measure_hws_free(struct measure_hws *l)
{
    free(l->row);
    csv_free(&l->csv);
    *l = (struct measure_hws){ 0 };
}

const struct measure_hw *measure_hws_find(const struct measure_hws *l, const char *hardware)
{
    for (size_t i = 0; i < l->n; i++)
        if (strcmp(l->row[i].hardware, hardware) == 0)
            return &l->row[i];
    return NULL;
}
