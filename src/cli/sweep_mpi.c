/*
 * roofcast sweep under mpirun. Rank 0 collects the parts of the other ranks in order. It polls instead of blocking, so that it
 * can report missing parts when mpirun ends all ranks because one died.
 */
#include "config.h"
#include "report/grid.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#ifdef HAVE_MPI
#include <mpi.h>
#endif

/* Set by Open MPI, MPICH's Hydra and Slurm for every process they start. */
static int started_ranks(void)
{
    static const char *const names[] = { "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS" };
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        const char *s = getenv(names[i]);
        if (s && (i < 2 || getenv("SLURM_PROCID")))
            return atoi(s);
    }
    return 0;
}

#ifdef HAVE_MPI
enum { TAG_PART = 1, TAG_TEXT, TAG_ASK };
enum { PIECE = 1 << 20 };

/* Sent by a rank before its text. */
struct header {
    uint64_t bytes;
    int failed; /* enum error_kind */
    char msg[1024];
};

int sweep_ranks_init(struct sweep_ranks *r, struct error *err)
{
    *r = (struct sweep_ranks){ .rank = 0, .n = 1 };
    if (started_ranks() < 1)
        return 0;
    if (MPI_Init(NULL, NULL) != MPI_SUCCESS)
        return error_set(err, ERROR_SYSTEM, "cannot start MPI");
    r->mpi = true;
    MPI_Comm_rank(MPI_COMM_WORLD, &r->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &r->n);
    interrupt_ignore_repeated();
    interrupt_install(); /* mpirun ends ranks with SIGTERM; MPI_Init may have taken the signal */
    return 0;
}

void sweep_ranks_free(struct sweep_ranks *r, bool failed)
{
    if (!r->mpi || interrupt_check(NULL) != 0)
        return;
    if (failed && r->rank == 0 && r->n > 1) /* other ranks may wait for a request */
        return;
    MPI_Finalize();
}

/* Polls until the rank has sent a message with this tag; -1: interrupted. */
static int look(int rank, int tag, struct error *err)
{
    const struct timespec wait = { 0, 1000000 };
    for (int there = 0;;) {
        MPI_Iprobe(rank, tag, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
        if (there)
            return 0;
        if (interrupt_check(err) != 0)
            return -1;
        nanosleep(&wait, NULL);
    }
}

static int receive_text(int rank, uint64_t bytes, FILE *out, struct error *err)
{
    char *piece = malloc(PIECE);
    int rc = piece ? 0 : error_oom(err, PIECE, "a piece of another rank's rows");
    while (rc == 0 && bytes > 0) {
        MPI_Status status;
        int n = 0;
        rc = look(rank, TAG_TEXT, err);
        if (rc != 0)
            break;
        MPI_Recv(piece, PIECE, MPI_CHAR, rank, TAG_TEXT, MPI_COMM_WORLD, &status);
        MPI_Get_count(&status, MPI_CHAR, &n);
        if (n == 0)
            rc = error_set(err, ERROR_SYSTEM, "rank %d cannot read its rows again", rank);
        if (fwrite(piece, 1, (size_t)n, out) != (size_t)n)
            rc = error_write(err, errno, "cannot write the rows");
        bytes -= (uint64_t)n;
    }
    free(piece);
    return rc;
}

int sweep_ranks_collect(const struct sweep_ranks *r, int rank, FILE *out, struct error *err)
{
    struct header h;
    (void)r;
    if (look(rank, TAG_PART, err) != 0)
        return -1;
    MPI_Recv(&h, sizeof h, MPI_BYTE, rank, TAG_PART, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (h.failed != ERROR_NONE)
        return error_set(err, (enum error_kind)h.failed, "rank %d: %.900s", rank, h.msg);
    MPI_Send(NULL, 0, MPI_CHAR, rank, TAG_ASK, MPI_COMM_WORLD);
    return receive_text(rank, h.bytes, out, err);
}

static int send_text(FILE *text, struct error *err)
{
    char *piece = malloc(PIECE);
    size_t n;
    errno = 0;
    rewind(text);
    while (piece && (n = fread(piece, 1, PIECE, text)) > 0)
        MPI_Send(piece, (int)n, MPI_CHAR, 0, TAG_TEXT, MPI_COMM_WORLD);
    const int e = errno;
    int rc = 0;
    if (!piece)
        rc = error_oom(err, PIECE, "a piece of the rows");
    else if (ferror(text))
        rc = error_set(err, ERROR_SYSTEM, "cannot read the temporary file of its rows: %s", strerror(e));
    if (rc != 0) /* rank 0 waits for the bytes that were announced */
        MPI_Send(NULL, 0, MPI_CHAR, 0, TAG_TEXT, MPI_COMM_WORLD);
    free(piece);
    return rc;
}

int sweep_ranks_deliver(const struct sweep_ranks *r, FILE *text, const struct error *failed, struct error *err)
{
    struct header h = { .failed = (int)failed->kind };
    (void)r;
    snprintf(h.msg, sizeof h.msg, "%s", failed->msg);
    if (failed->kind == ERROR_NONE && (fflush(text) != 0 || fseek(text, 0, SEEK_END) != 0 || ftell(text) < 0)) {
        h.failed = ERROR_SYSTEM;
        snprintf(h.msg, sizeof h.msg, "cannot write the temporary file of its rows: %s", strerror(errno));
    }
    if (h.failed == ERROR_NONE)
        h.bytes = (uint64_t)ftell(text);
    MPI_Send(&h, sizeof h, MPI_BYTE, 0, TAG_PART, MPI_COMM_WORLD);
    if (h.failed != ERROR_NONE)
        return error_set(err, (enum error_kind)h.failed, "%.1000s", h.msg);
    if (look(0, TAG_ASK, err) != 0)
        return -1;
    MPI_Recv(NULL, 0, MPI_CHAR, 0, TAG_ASK, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return send_text(text, err);
}

#else

int sweep_ranks_init(struct sweep_ranks *r, struct error *err)
{
    *r = (struct sweep_ranks){ .rank = 0, .n = 1 };
    if (started_ranks() > 1)
        return error_set(err, ERROR_UNAVAILABLE,
                         "%d processes were started, but this build has no MPI: each would predict the whole grid. Install Open MPI "
                         "(libopenmpi-dev) and reconfigure",
                         started_ranks());
    return 0;
}

void sweep_ranks_free(struct sweep_ranks *r, bool failed)
{
    (void)r, (void)failed;
}

int sweep_ranks_collect(const struct sweep_ranks *r, int rank, FILE *out, struct error *err)
{
    (void)r, (void)rank, (void)out, (void)err;
    return 0;
}

int sweep_ranks_deliver(const struct sweep_ranks *r, FILE *text, const struct error *failed, struct error *err)
{
    (void)r, (void)text, (void)failed, (void)err;
    return 0;
}
#endif
