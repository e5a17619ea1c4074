/* What the compiled core has beside its kernels: can this processor run it? */

#if defined(_WIN32)
#define EXPORT __declspec(dllexport)
#else
#define EXPORT __attribute__((visibility("default")))
#endif

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

/* Numba counts references of arrays that own their memory.  Kernels own none. */
void NRT_incref(void *memory) { (void)memory; }
void NRT_decref(void *memory) { (void)memory; }
void NRT_MemInfo_call_dtor(void *memory) { (void)memory; }
