# Threads, time, messages, what the build and the machine offer.

#' Threads
#'
#' Number of threads that computations use, this R process's own thread among
#' them. The default is what the system grants the process, at most
#' `OMP_THREAD_LIMIT`, and at most 2 under `R CMD check`. A new number counts at
#' once. Results do not depend on it.
#'
#' @param n_threads,n Number of threads, 1 to 1024.
#' @return The number of threads.
#' @export
#' @examples
#' old <- ggml_get_n_threads()
#' ggml_set_n_threads(1)
#' ggml_set_n_threads(old)
ggml_set_n_threads <- function(n_threads) {
  if (is.numeric(n_threads) && length(n_threads) == 1L && !is.na(n_threads) && n_threads < 1) {
    ggmlr_abort(
      "argument", "Number of threads must be at least 1",
      arg = "n_threads", expected = "1 or more", got = show_value(n_threads)
    )
  }
  rs_diag_set_threads(n_threads)
}

#' @rdname ggml_set_n_threads
#' @export
ggml_get_n_threads <- function() rs_diag_threads()

#' @rdname ggml_set_n_threads
#' @export
ggml_set_omp_threads <- function(n) ggml_set_n_threads(n)

#' Clocks
#'
#' Time since the package was loaded, from a clock that never goes back.
#' `ggml_cycles()` counts nanoseconds.
#'
#' @return A number; `ggml_time_init()`: `NULL`, invisibly.
#' @export
#' @examples
#' ggml_time_ms()
#' ggml_time_us()
#' ggml_cycles() / ggml_cycles_per_ms()
ggml_time_init <- function() {
  rs_diag_time()
  invisible(NULL)
}

#' @rdname ggml_time_init
#' @export
ggml_time_ms <- function() rs_diag_time() / 1e6

#' @rdname ggml_time_init
#' @export
ggml_time_us <- function() rs_diag_time() / 1e3

#' @rdname ggml_time_init
#' @export
ggml_cycles <- function() rs_diag_time()

#' @rdname ggml_time_init
#' @export
ggml_cycles_per_ms <- function() 1e6

#' Where messages go
#'
#' With `ggml_log_set_r()`, the state after loading, information goes to R's
#' output and warnings and errors of the log to its messages; debugging lines are
#' dropped. With `ggml_log_set_default()` everything goes to standard error.
#'
#' Failures are R errors in any case; `ggml_set_abort_callback_r()` and
#' `ggml_set_abort_callback_default()` exist for scripts that call them and change
#' only what `ggml_abort_is_r_enabled()` reports.
#'
#' @return `NULL`, invisibly; the `_is_r_enabled` functions: a logical.
#' @export
#' @examples
#' ggml_log_is_r_enabled()
ggml_log_set_r <- function() {
  session_state$log_to_r <- TRUE
  invisible(NULL)
}

#' @rdname ggml_log_set_r
#' @export
ggml_log_set_default <- function() {
  session_state$log_to_r <- FALSE
  invisible(NULL)
}

#' @rdname ggml_log_set_r
#' @export
ggml_log_is_r_enabled <- function() session_state$log_to_r

#' @rdname ggml_log_set_r
#' @export
ggml_set_abort_callback_r <- function() {
  session_state$abort_to_r <- TRUE
  invisible(NULL)
}

#' @rdname ggml_log_set_r
#' @export
ggml_set_abort_callback_default <- function() {
  session_state$abort_to_r <- FALSE
  invisible(NULL)
}

#' @rdname ggml_log_set_r
#' @export
ggml_abort_is_r_enabled <- function() session_state$abort_to_r

# Prints lines of the log.
log_emit <- function(level, text) {
  if (level == "debug" && session_state$log_to_r) return()
  if (!session_state$log_to_r) {
    writeLines(text, stderr())
  } else if (level %in% c("warn", "error")) {
    message(paste(text, collapse = "\n"))
  } else {
    writeLines(text)
  }
}

#' Set the seed of R's random numbers
#'
#' Random operators and training take their randomness from R's generator, so
#' this is [set.seed()] with a check.
#'
#' @param seed One whole number, or `NULL` to do nothing.
#' @return `seed`, invisibly.
#' @export
#' @examples
#' ggml_set_seed(42)
ggml_set_seed <- function(seed) {
  if (is.null(seed)) return(invisible(NULL))
  fine <- is.numeric(seed) && length(seed) == 1L && !is.na(seed) &&
    seed == round(seed) && abs(seed) <= .Machine$integer.max
  if (!fine) {
    ggmlr_abort(
      "argument", "seed must be a single whole number",
      arg = "seed", got = show_value(seed)
    )
  }
  set.seed(seed)
  invisible(seed)
}

#' Is the package working, and how was it built?
#'
#' `ggml_version()` is the version of the engine. `ggml_is_available()` is `TRUE`
#' whenever the package is loaded. `ggml_test()` computes a small graph, says so,
#' and returns `TRUE` if the result is right. `ggml_build_info()` tells how the
#' package was compiled and which vector instructions it uses.
#'
#' @return A string, a logical, a list.
#' @export
#' @examples
#' ggml_version()
#' ggml_test()
#' str(ggml_build_info())
ggml_version <- function() rs_diag_build()$version

#' @rdname ggml_version
#' @export
ggml_is_available <- function() TRUE

#' @rdname ggml_version
#' @export
ggml_test <- function() {
  ctx <- ggml_init()
  on.exit(ggml_free(ctx))
  a <- ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 3)
  ggml_set_f32(a, 1:3)
  y <- op_node(ctx, "ggml_add", list(a, a))
  ggml_graph_compute(ctx, ggml_build_forward_expand(ctx, y))
  right <- identical(ggml_get_f32(y), c(2, 4, 6))
  writeLines(paste0("ggmlR ", ggml_version(), if (right) " works" else " computes wrong values"))
  right
}

#' @rdname ggml_version
#' @export
ggml_build_info <- function() rs_diag_build()

#' What the CPU offers
#'
#' Whether the running CPU has a set of instructions that the kernels of this
#' package choose between. `ggml_cpu_features()` lists all of them.
#' `ggml_cpu_get_sve_cnt()` and `ggml_cpu_get_rvv_vlen()` are vector lengths in
#' bytes, 0 where no kernel uses such vectors.
#'
#' @return A logical or an integer; `ggml_cpu_features()`: a named list.
#' @export
#' @examples
#' ggml_cpu_has_avx2()
#' names(Filter(isTRUE, ggml_cpu_features()))
ggml_cpu_features <- function() {
  found <- rs_diag_cpu_features()
  lengths <- list(sve_cnt = ggml_cpu_get_sve_cnt(), rvv_vlen = ggml_cpu_get_rvv_vlen())
  all <- c(found, lengths)
  # The lengths stand behind the instructions they belong to.
  place <- c(seq_along(found), match(c("sve", "riscv_v"), names(found)) + 0.5)
  all[order(place)]
}

#' @rdname ggml_cpu_features
#' @export
ggml_cpu_get_sve_cnt <- function() 0L

#' @rdname ggml_cpu_features
#' @export
ggml_cpu_get_rvv_vlen <- function() 0L

#' @rdname ggml_cpu_features
#' @export
ggml_cpu_has_sse3 <- function() rs_diag_cpu_features()$sse3

#' @rdname ggml_cpu_features
#' @export
ggml_cpu_has_ssse3 <- function() rs_diag_cpu_features()$ssse3

#' @rdname ggml_cpu_features
#' @export
ggml_cpu_has_avx <- function() rs_diag_cpu_features()$avx

#' @rdname ggml_cpu_features
#' @export
ggml_cpu_has_avx_vnni <- function() rs_diag_cpu_features()$avx_vnni

#' @rdname ggml_cpu_features
#' @export
ggml_cpu_has_avx2 <- function() rs_diag_cpu_features()$avx2

#' @rdname ggml_cpu_features
#' @export
ggml_cpu_has_bmi2 <- function() rs_diag_cpu_features()$bmi2

#' @rdname ggml_cpu_features
#' @export
ggml_cpu_has_f16c <- function() rs_diag_cpu_features()$f16c

#' @rdname ggml_cpu_features
#' @export
ggml_cpu_has_fma <- function() rs_diag_cpu_features()$fma

#' @rdname ggml_cpu_features
#' @export
ggml_cpu_has_avx512 <- function() rs_diag_cpu_features()$avx512

#' @rdname ggml_cpu_features
#' @export
ggml_cpu_has_avx512_vbmi <- function() rs_diag_cpu_features()$avx512_vbmi

#' @rdname ggml_cpu_features
#' @export
ggml_cpu_has_avx512_vnni <- function() rs_diag_cpu_features()$avx512_vnni

#' @rdname ggml_cpu_features
#' @export
ggml_cpu_has_avx512_bf16 <- function() rs_diag_cpu_features()$avx512_bf16

#' @rdname ggml_cpu_features
#' @export
ggml_cpu_has_amx_int8 <- function() rs_diag_cpu_features()$amx_int8

#' @rdname ggml_cpu_features
#' @export
ggml_cpu_has_neon <- function() rs_diag_cpu_features()$neon

#' @rdname ggml_cpu_features
#' @export
ggml_cpu_has_arm_fma <- function() rs_diag_cpu_features()$arm_fma

#' @rdname ggml_cpu_features
#' @export
ggml_cpu_has_fp16_va <- function() rs_diag_cpu_features()$fp16_va

#' @rdname ggml_cpu_features
#' @export
ggml_cpu_has_dotprod <- function() rs_diag_cpu_features()$dotprod

#' @rdname ggml_cpu_features
#' @export
ggml_cpu_has_matmul_int8 <- function() rs_diag_cpu_features()$matmul_int8

#' @rdname ggml_cpu_features
#' @export
ggml_cpu_has_sve <- function() rs_diag_cpu_features()$sve

#' @rdname ggml_cpu_features
#' @export
ggml_cpu_has_sme <- function() rs_diag_cpu_features()$sme

#' @rdname ggml_cpu_features
#' @export
ggml_cpu_has_riscv_v <- function() rs_diag_cpu_features()$riscv_v

#' @rdname ggml_cpu_features
#' @export
ggml_cpu_has_vsx <- function() rs_diag_cpu_features()$vsx

#' @rdname ggml_cpu_features
#' @export
ggml_cpu_has_vxe <- function() rs_diag_cpu_features()$vxe

#' @rdname ggml_cpu_features
#' @export
ggml_cpu_has_wasm_simd <- function() rs_diag_cpu_features()$wasm_simd

#' @rdname ggml_cpu_features
#' @export
ggml_cpu_has_llamafile <- function() rs_diag_cpu_features()$llamafile
