/* Step a packed humanoid from C, without Python: docs/c.md says how it is built. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "dynenvs.h"

static void *room(size_t bytes) { /* zeros, aligned as kernels want them */
  bytes = (bytes + 63) / 64 * 64;
  void *memory = aligned_alloc(64, bytes);
  if (!memory) exit(fprintf(stderr, "no memory for %zu bytes\n", bytes));
  return memset(memory, 0, bytes);
}

int main(int count, char **words) {
  if (count != 2) exit(fprintf(stderr, "usage: humanoid MODEL\n"));
  FILE *file = fopen(words[1], "rb");
  if (!file) exit(fprintf(stderr, "cannot read %s\n", words[1]));
  char head[65] = "", version[33] = "", layout[33] = "";
  size_t read = fread(head, 1, 64, file);
  if (read != 64 || sscanf(head, "dynenvs %32s %32s", version, layout) != 2)
    exit(fprintf(stderr, "%s is no packed model\n", words[1]));
  if (strcmp(layout, dynenvs_layout()) || strcmp(layout, DYNENVS_LAYOUT))
    exit(fprintf(stderr, "%s: made by dynenvs %s with another layout: make it anew with this one\n",
                 words[1], version));
  if (!dynenvs_runs_here()) exit(fprintf(stderr, "this processor is too old for the library\n"));

  char *start = room(sizeof(int64_t) * 1024); /* the model's header tells how long all is */
  read = fread(start, 1, DYNENVS_HEADER, file);
  if (read != DYNENVS_HEADER) exit(fprintf(stderr, "%s has lost its end\n", words[1]));
  size_t rest = DYNENVS_COUNT(start, model_bytes), bytes = DYNENVS_COUNT(start, state_bytes);
  char *model = memcpy(room(rest), start, DYNENVS_HEADER), *state = room(bytes);
  char *work = room(DYNENVS_COUNT(model, workspace_bytes));
  rest -= DYNENVS_HEADER;
  if (fread(model + DYNENVS_HEADER, 1, rest, file) != rest || fread(state, 1, bytes, file) != bytes)
    exit(fprintf(stderr, "%s has lost its end\n", words[1]));

  int64_t nq = DYNENVS_COUNT(model, nq), nv = DYNENVS_COUNT(model, nv);
  double *q = DYNENVS_ARRAY(model, state, StateView_q), *v = DYNENVS_ARRAY(model, state, StateView_v);
  double *tau = room(nv * sizeof *tau);
  struct dynenvs_simulation_timestep_step step = {model, state, work, tau, nv, 0.005, 0};
  for (int k = 0; k < 1000; k++) {
    for (int64_t i = 6; i < nv; i++) tau[i] = 8.0 * ((k / 50 + i) % 3 - 1); /* [N m] */
    int64_t word = 0;
    void *own = NULL;
    dynenvs_simulation_timestep_step(&word, &own, &step);
    if (step.result) exit(fprintf(stderr, "step %d failed\n", k));
    for (int64_t i = 0; i < nq; i++) printf("%a ", q[i]);
    for (int64_t i = 0; i < nv; i++) printf("%a%c", v[i], i + 1 < nv ? ' ' : '\n');
  }
  return 0;
}
