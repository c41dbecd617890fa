#pragma once

#include <lp/lp.h>

/* What the thread has. */
typedef struct
{
  gboolean        grad_enabled;
  LpDType        *dtype;
  LpComputeScope *scope;       /* compared, never used */
  LpGenerator    *generator;   /* compared, never used */
} ThreadState;

static inline ThreadState
thread_state_get (void)
{
  g_autoptr (LpComputeScope) scope = lp_compute_scope_dup_current ();

  return (ThreadState) { lp_grad_mode_is_enabled (), lp_default_dtype_get (), scope, lp_generator_get_default () };
}

static inline void
thread_state_assert (const ThreadState *expected)
{
  ThreadState actual = thread_state_get ();

  g_assert_cmpint (actual.grad_enabled, ==, expected->grad_enabled);
  g_assert_true (actual.dtype == expected->dtype);
  g_assert_true (actual.scope == expected->scope);
  g_assert_true (actual.generator == expected->generator);
}
