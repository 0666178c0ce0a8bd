//! Backends and buffers: what R/ggml-backend.R calls.

use crate::bindings::bindings;
use crate::decode;
use crate::handles::{self, Thing};
use crate::run;
use crate::state;
use ggmlr_cpu::CpuDevice;
use ggmlr_session::Usage;

bindings! {
mod backend;

/// Opens the CPU.
fn rs_backend_cpu() {
    let key = state::with(|s| s.open_backend(CpuDevice::shared()))?;
    Ok(handles::make(Thing::Backend, key, None))
}

/// Ends a backend.
fn rs_backend_free(backend) {
    let key = decode::backend(backend, "backend")?;
    state::with(|s| {
        s.free_backend(key);
        Ok(())
    })?;
    Ok(().into())
}

/// Name of the device.
fn rs_backend_name(backend) {
    let key = decode::backend(backend, "backend")?;
    Ok(state::with(|s| Ok(s.backend(key)?.device.name().to_owned()))?.into())
}

/// Threads for one backend.
fn rs_backend_set_threads(backend, n_threads) {
    let key = decode::backend(backend, "backend")?;
    let n = decode::within(n_threads, "n_threads", 1, crate::diag::MAX_THREADS)?;
    state::with(|s| {
        s.backend_mut(key)?.threads = n;
        Ok(())
    })?;
    Ok(().into())
}

/// Computes every node of a graph.
fn rs_backend_compute(backend, graph) {
    let (key, graph) = (decode::backend(backend, "backend")?, decode::graph(graph, "graph")?);
    let (device, threads) = state::with(|s| {
        let b = s.backend(key)?;
        Ok((b.device.clone(), b.threads))
    })?;
    run::compute(graph, &[device], threads)
}

/// Gives the tensors of a context storage.
fn rs_backend_alloc(ctx, backend) {
    let (key, backend) = (decode::context(ctx, "ctx")?, decode::backend(backend, "backend")?);
    let buffer = state::with(|s| s.alloc_context(key, backend))?;
    Ok(handles::make(Thing::Buffer, buffer, None))
}

/// Ends a buffer.
fn rs_backend_buffer_free(buffer) {
    let key = decode::buffer(buffer, "buffer")?;
    state::with(|s| {
        s.free_buffer(key);
        Ok(())
    })?;
    Ok(().into())
}

/// Bytes of a buffer.
fn rs_backend_buffer_size(buffer) {
    let key = decode::buffer(buffer, "buffer")?;
    Ok((state::with(|s| Ok(s.buffer(key)?.size()))? as f64).into())
}

/// Name of the device that holds a buffer.
fn rs_backend_buffer_name(buffer) {
    let key = decode::buffer(buffer, "buffer")?;
    Ok(state::with(|s| Ok(s.buffer(key)?.device().to_owned()))?.into())
}

/// Whether the CPU reaches a buffer directly.
fn rs_backend_buffer_is_host(buffer) {
    let key = decode::buffer(buffer, "buffer")?;
    Ok(state::with(|s| Ok(s.buffer(key)?.is_host()))?.into())
}

/// Sets every byte of a buffer.
fn rs_backend_buffer_clear(buffer, value) {
    let key = decode::buffer(buffer, "buffer")?;
    let value = decode::within(value, "value", 0, 255)?;
    state::with(|s| s.clear_buffer(key, value as u8))?;
    Ok(().into())
}

/// What a buffer is for.
fn rs_backend_buffer_usage(buffer) {
    let key = decode::buffer(buffer, "buffer")?;
    Ok((state::with(|s| Ok(s.buffer(key)?.usage))? as i32).into())
}

/// Says what a buffer is for.
fn rs_backend_buffer_set_usage(buffer, usage) {
    let key = decode::buffer(buffer, "buffer")?;
    let usage = match decode::within(usage, "usage", 0, 2)? {
        0 => Usage::Any,
        1 => Usage::Weights,
        _ => Usage::Compute,
    };
    state::with(|s| {
        s.buffer_mut(key)?.usage = usage;
        Ok(())
    })?;
    Ok(().into())
}
}
