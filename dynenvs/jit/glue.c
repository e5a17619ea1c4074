/* What the compiled core has beside its kernels: can this processor run it? */

#if defined(_WIN32)
#define EXPORT __declspec(dllexport)
#else
#define EXPORT __attribute__((visibility("default")))
#endif

/* The name of a symbol as the linker knows it: some systems put an underscore before it. */
#define TEXT(words) #words
#define QUOTED(words) TEXT(words)
#define SYMBOL(name) QUOTED(__USER_LABEL_PREFIX__) name

#if defined(__x86_64__)
#include <cpuid.h>

/* Whether there is all that x86-64-v3 asks for, and the system keeps the wide registers. */
EXPORT int dynenvs_runs_here(void) {
  unsigned a, b, c, d, low, high;
  const unsigned first = 1u << 12 | 1u << 22 | 1u << 27 | 1u << 28 | 1u << 29; /* FMA, MOVBE, OSXSAVE, AVX, F16C */
  const unsigned second = 1u << 3 | 1u << 5 | 1u << 8;                          /* BMI1, AVX2, BMI2 */
  if (!__get_cpuid(1, &a, &b, &c, &d) || (c & first) != first) return 0;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  if ((low & 6) != 6) return 0;
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || (b & second) != second) return 0;
  return __get_cpuid(0x80000001u, &a, &b, &c, &d) && (c & 1u << 5); /* LZCNT */
}
#else
EXPORT int dynenvs_runs_here(void) { return 1; }
#endif

/* What numba's compiled code asks for: memory that counts its owners, for the few kernels that make
   arrays (none of the step's), and other shapes of contiguous arrays. */

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

typedef struct { /* laid out as numba's */
  size_t owners;
  void *on_end, *argument, *data;
  size_t size;
} Memory;

void *NRT_Allocate(size_t size) { return malloc(size); }
void NRT_Free(void *memory) { free(memory); }

void *NRT_MemInfo_alloc_aligned(size_t size, unsigned alignment) {
  Memory *memory = malloc(sizeof(Memory) + size + 2 * alignment);
  if (!memory) return NULL;
  uintptr_t first = (uintptr_t)(memory + 1) + alignment;
  *memory = (Memory){1, NULL, NULL, (void *)(first - first % alignment), size};
  return memory;
}

void NRT_MemInfo_call_dtor(Memory *memory) { free(memory); }

void NRT_incref(Memory *memory) {
  if (memory) __atomic_add_fetch(&memory->owners, 1, __ATOMIC_RELAXED);
}

void NRT_decref(Memory *memory) {
  if (memory && !__atomic_sub_fetch(&memory->owners, 1, __ATOMIC_ACQ_REL)) free(memory);
}

/* Kernels reshape contiguous arrays only: their strides follow from the new shape. */
int numba_attempt_nocopy_reshape(ptrdiff_t dimensions, const ptrdiff_t *shape,
                                 const ptrdiff_t *strides, ptrdiff_t new_dimensions,
                                 const ptrdiff_t *new_shape, ptrdiff_t *new_strides,
                                 ptrdiff_t item_size, int fortran) {
  (void)dimensions, (void)shape, (void)strides, (void)fortran;
  for (ptrdiff_t i = new_dimensions; i-- > 0; item_size *= new_shape[i]) new_strides[i] = item_size;
  return 1;
}
