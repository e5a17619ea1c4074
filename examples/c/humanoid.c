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
  unsigned long long sum = 0;
  size_t read = fread(head, 1, 64, file);
  if (read != 64 || sscanf(head, "dynenvs %32s %32s %llx", version, layout, &sum) < 2)
    exit(fprintf(stderr, "%s is no packed model\n", words[1]));
  if (strcmp(layout, dynenvs_layout()) || strcmp(layout, DYNENVS_LAYOUT))
    exit(fprintf(stderr, "%s: made by dynenvs %s with another layout: make it anew with this one\n",
                 words[1], version));
  if (!dynenvs_runs_here()) exit(fprintf(stderr, "this processor is too old for the library\n"));

  fseek(file, 0, SEEK_END);
  size_t size = ftell(file) - 64;
  fseek(file, 64, SEEK_SET);
  char *model = room(size); /* and the state behind it */
  read = fread(model, 1, size, file);
  uint64_t found = 0; /* kernels trust what they read: what is spoilt must not reach them */
  for (size_t k = 0; k < size / 8; k++) found += ((uint64_t *)model)[k] * (2 * k + 1);
  if (read != size || size % 8 || found != sum) exit(fprintf(stderr, "%s is damaged\n", words[1]));
  size_t bytes = DYNENVS_COUNT(model, state_bytes);
  char *state = memcpy(room(bytes), model + DYNENVS_COUNT(model, model_bytes), bytes);
  char *work = room(DYNENVS_COUNT(model, workspace_bytes));

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
