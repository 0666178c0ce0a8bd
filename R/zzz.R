#' @keywords internal
#' @useDynLib ggmlR, .registration = TRUE
"_PACKAGE"

# What the package remembers during a session.
session_state <- new.env(parent = emptyenv())

.onLoad <- function(libname, pkgname) {
  session_state$log_to_r <- TRUE
  session_state$abort_to_r <- TRUE
  # Bytes of tensor data at which R is asked to look for garbage.
  session_state$gc_at <- gc_step
  # The clock starts here.
  rs_diag_time()
}

# There is no .onUnload(): handles that live on have finalizers in the library, so
# it must stay loaded.

# R's collector does not see the data of tensors: it would let dead contexts of
# many gigabytes lie around, because their handles are small.
gc_step <- 512 * 1024^2

collect_if_needed <- function() {
  if (rs_diag_live_bytes() > session_state$gc_at) {
    gc()
    session_state$gc_at <- rs_diag_live_bytes() + gc_step
  }
}
