/* Lets libFuzzer see where SQLite goes. SQLite is C, which `cargo fuzz` does not instrument; gcc
 * calls the function below in every basic block when it compiles with -fsanitize-coverage=trace-pc
 * (see README.md), and libFuzzer looks at whatever lies in the section named here. */
#include <stdint.h>

__attribute__((section("__libfuzzer_extra_counters"))) static uint8_t counters[1 << 16];

/* It must not be made to call itself. */
__attribute__((no_sanitize_coverage)) void __sanitizer_cov_trace_pc(void) {
  uintptr_t at = (uintptr_t)__builtin_return_address(0);
  counters[(at ^ (at >> 16)) & 0xffff]++;
}
