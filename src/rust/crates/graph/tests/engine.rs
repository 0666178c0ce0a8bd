//! The engine with operators made for the test, so that it stands on nothing but the contract.

mod common;

use common::{Halves, Lin, Runner, Square, bytes_of, f32_desc, floats};
use ggmlr_core::{Binding, Buffer, Cancel, DType, Device, Kind, Val};
use ggmlr_cpu::{CpuDevice, HostBuffer, NullDevice, null::Record};
use ggmlr_graph::{Graph, Instance, Program, ProgramCache, Run, backward};
use std::sync::Arc;

#[test]
fn an_operator_has_several_results_and_each_carries_a_gradient() {
    // (a, b) = halves of x; loss = sum-free seed of ones on a^2 + 3 b.
    let mut g = Graph::new();
    let x = g.leaf(f32_desc(&[4]));
    let ab = g.add(Arc::new(Halves), &[x], None).unwrap();
    let a2 = g.op(Square, &[ab[0]]).unwrap();
    let b3 = g.op(Lin::new(3.0), &[ab[1]]).unwrap();
    let y = g.op(common::Add, &[a2, b3]).unwrap();
    let seed = g.filled(f32_desc(&[2]), 1.0);
    let order: Vec<Val> = g.nodes().iter().enumerate().map(|(i, _)| Val((i as u64) << 8)).collect();
    let grads = backward(&mut g, &order, y.into(), seed.into(), &[x.into()]).unwrap();
    let dx = grads[&x.into()].into();
    g.keep(y);
    g.keep(dx);
    let mut r = Runner::new(&g, &[CpuDevice::shared()]);
    r.set(x, &[1.0, 2.0, 3.0, 4.0]);
    r.run().unwrap();
    assert_eq!(r.get(y), [1.0 + 9.0, 4.0 + 12.0]);
    assert_eq!(r.get(dx), [2.0, 4.0, 3.0, 3.0]);
}

#[test]
fn scalars_change_without_a_new_program() {
    let mut cache = ProgramCache::new();
    let devices = [CpuDevice::shared()];
    let build = |k: f32| {
        let mut g = Graph::new();
        let x = g.leaf(f32_desc(&[3]));
        let y = g.op(Lin::new(k), &[x]).unwrap();
        g.keep(y);
        (g, x, y)
    };
    for k in [2.0, 5.0] {
        let (g, x, y) = build(k);
        let p = cache.get(&g, &devices).unwrap();
        let mut r = Runner::over(p);
        r.inst.set_scalars(g.scalars()).unwrap();
        r.set(x, &[1.0, 2.0, 3.0]);
        r.run().unwrap();
        assert_eq!(r.get(y), [k, 2.0 * k, 3.0 * k]);
    }
    assert_eq!(cache.compiled(), 1);
}

#[test]
fn the_plan_reuses_memory_and_in_place_results_take_over_sources() {
    let mut g = Graph::new();
    let x = g.leaf(f32_desc(&[1000]));
    let mut v = g.op(Lin::new(1.0), &[x]).unwrap();
    for _ in 0..20 {
        v = g.op(Lin::new(1.0), &[v]).unwrap();
        v = g.op(Square, &[v]).unwrap();
    }
    g.keep(v);
    let p = Program::compile(&g, &[CpuDevice::shared()]).unwrap();
    // `Lin` may take over its source, `Square` may not: two blocks are enough for any length.
    assert_eq!(p.arena_bytes(), 2 * 4096);
    let mut r = Runner::over(Arc::new(p));
    r.set(x, &[1.0; 1000]);
    r.run().unwrap();
    assert!(r.get(v).iter().all(|y| *y == 1.0));
}

#[test]
fn a_value_read_later_is_never_overwritten_by_reuse() {
    let mut g = Graph::new();
    let x = g.leaf(f32_desc(&[8]));
    let a = g.op(Lin::new(2.0), &[x]).unwrap();
    let b = g.op(Lin::new(10.0), &[a]).unwrap();
    let c = g.op(common::Add, &[a, b]).unwrap();
    g.keep(c);
    let mut r = Runner::new(&g, &[CpuDevice::shared()]);
    r.set(x, &[1.0; 8]);
    r.run().unwrap();
    assert_eq!(r.get(c), [22.0; 8]);
}

#[test]
fn in_place_writes_reach_the_leaf_and_the_same_tensor_may_be_both_operands() {
    let mut g = Graph::new();
    let w = g.leaf(f32_desc(&[4]));
    let y = g.add(Arc::new(common::Add), &[w, w], Some(0)).unwrap()[0];
    let z = g.add(Arc::new(Lin::new(10.0)), &[y], Some(0)).unwrap()[0];
    assert_eq!(g.root(z), w);
    let mut r = Runner::new(&g, &[CpuDevice::shared()]);
    r.set(w, &[1.0, 2.0, 3.0, 4.0]);
    r.run().unwrap();
    assert_eq!(r.get(w), [20.0, 40.0, 60.0, 80.0]);
}

#[test]
fn strided_leaves_and_strided_destinations_work() {
    let mut t = f32_desc(&[2, 3]);
    t.ne.swap(0, 1);
    t.nb.swap(0, 1);
    // A transposed leaf, doubled in place.
    let mut g = Graph::new();
    let w = g.leaf(t);
    let y = g.add(Arc::new(Lin::new(2.0)), &[w], Some(0)).unwrap()[0];
    let s = g.op(Square, &[y]).unwrap();
    g.keep(s);
    let mut r = Runner::new(&g, &[CpuDevice::shared()]);
    r.set(w, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    r.run().unwrap();
    assert_eq!(r.get(w), [2.0, 4.0, 6.0, 8.0, 10.0, 12.0]);
    assert_eq!(r.get(s), [4.0, 36.0, 100.0, 16.0, 64.0, 144.0]);
}

#[test]
fn a_gradient_that_needs_an_overwritten_value_is_refused_by_name() {
    let mut g = Graph::new();
    let x = g.leaf(f32_desc(&[4]));
    let s = g.op(Square, &[x]).unwrap();
    g.set_name(s, "power");
    let y = g.add(Arc::new(Lin::new(2.0)), &[x], Some(0)).unwrap()[0];
    g.set_name(y, "doubled");
    let loss = g.op(common::Add, &[s, y]).unwrap();
    let seed = g.filled(f32_desc(&[4]), 1.0);
    let order: Vec<Val> = (0..g.nodes().len()).map(|i| Val((i as u64) << 8)).collect();
    let e = backward(&mut g, &order, loss.into(), seed.into(), &[x.into()]).unwrap_err();
    assert_eq!(e.kind(), Kind::NoGradient);
    assert!(e.message().contains("power") && e.message().contains("doubled"), "{e}");
}

#[test]
fn an_operator_without_a_rule_is_an_error_with_the_path() {
    let mut g = Graph::new();
    let x = g.leaf(f32_desc(&[4]));
    let a = g.op(common::NoRule, &[x]).unwrap();
    let loss = g.op(Square, &[a]).unwrap();
    let seed = g.filled(f32_desc(&[4]), 1.0);
    let order: Vec<Val> = (0..g.nodes().len()).map(|i| Val((i as u64) << 8)).collect();
    let before = g.nodes().len();
    let e = backward(&mut g, &order, loss.into(), seed.into(), &[x.into()]).unwrap_err();
    assert_eq!(e.kind(), Kind::NoGradient);
    assert_eq!(e.got_text(), Some("path from the loss: test_square <- test_no_rule"));
    assert!(g.nodes().len() > before, "the backward graph was begun, nothing ran");
}

#[test]
fn mixed_graphs_give_the_same_values_and_every_fallback_is_on_record() {
    let mut g = Graph::new();
    let x = g.leaf(f32_desc(&[6]));
    let mut v = g.op(Lin::new(3.0), &[x]).unwrap();
    let skip = v;
    for _ in 0..3 {
        v = g.op(Square, &[v]).unwrap();
        v = g.op(Lin::new(0.5), &[v]).unwrap();
    }
    let y = g.op(common::Add, &[v, skip]).unwrap();
    // Into memory from outside, from the other device.
    let w = g.leaf(f32_desc(&[6]));
    let w2 = g.add(Arc::new(Square), &[w], Some(0)).unwrap()[0];
    let z = g.op(common::Add, &[y, w2]).unwrap();
    g.keep(z);
    let run = |devices: &[Arc<dyn Device>]| {
        let p = Arc::new(Program::compile(&g, devices).unwrap());
        let mut r = Runner::over(p.clone());
        r.set(x, &[0.1, -0.2, 0.3, -0.4, 0.5, 0.6]);
        r.set(w, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        r.run().unwrap();
        (r.get(z), r.get(w), p)
    };
    let (alone, w_alone, p) = run(&[CpuDevice::shared()]);
    assert_eq!((p.n_stages(), p.ledger().nodes()), (1, 0));
    let picky = common::Picky::shared("picky", &["test_square"]);
    let (mixed, w_mixed, p) = run(&[picky, CpuDevice::shared()]);
    assert_eq!((&alone, &w_alone), (&mixed, &w_mixed));
    assert!(p.n_stages() > 6, "parts and copies: {}", p.n_stages());
    assert_eq!(p.ledger().entries.len(), 1);
    let entry = &p.ledger().entries[0];
    assert_eq!((entry.op, entry.device.as_str(), entry.count), ("test_square", "picky", 3));
}

#[test]
fn the_null_device_shows_parts_and_copies() {
    let null = NullDevice::new("null", &["test_square"]);
    let mut g = Graph::new();
    let x = g.leaf(f32_desc(&[16]));
    let a = g.op(Lin::new(2.0), &[x]).unwrap();
    let b = g.op(Lin::new(2.0), &[a]).unwrap();
    let c = g.op(Square, &[b]).unwrap();
    let d = g.op(Lin::new(2.0), &[c]).unwrap();
    g.keep(d);
    let devices: [Arc<dyn Device>; 2] = [null.clone(), CpuDevice::shared()];
    let mut r = Runner::new(&g, &devices);
    r.set(x, &[1.0; 16]);
    r.run().unwrap();
    let submits: Vec<Vec<&str>> = null
        .records()
        .into_iter()
        .filter_map(|r| match r {
            Record::Submit(ops) => Some(ops),
            _ => None,
        })
        .collect();
    assert_eq!(submits, [vec!["test_lin", "test_lin"], vec!["test_lin"]]);
    // Up: x and c. Down: b. The last value stays on the device.
    assert_eq!(null.moved(), 3 * 64);
}

#[test]
fn no_device_for_an_operator_is_an_error_that_gives_the_reasons() {
    let null: Arc<dyn Device> = NullDevice::new("null", &["test_square"]);
    let mut g = Graph::new();
    let x = g.leaf(f32_desc(&[4]));
    let y = g.op(Square, &[x]).unwrap();
    g.keep(y);
    let e = Program::compile(&g, &[null]).unwrap_err();
    assert_eq!(e.kind(), Kind::Unsupported);
    assert!(e.message().contains("null: 'test_square' is on the list"), "{e}");
}

#[test]
fn caller_owned_memory_is_computed_on_without_a_copy() {
    let mut data = vec![1.0_f32, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0];
    // SAFETY: `data` outlives every use below and is not touched while the graph runs.
    let buffer = unsafe { HostBuffer::external(data.as_mut_ptr().cast(), 32, Box::new(())) };
    let address = buffer.address();
    let mut g = Graph::new();
    let x = g.leaf(f32_desc(&[4]));
    let y = g.add(Arc::new(Lin::new(3.0)), &[x], Some(0)).unwrap()[0];
    let p = Arc::new(Program::compile(&g, &[CpuDevice::shared()]).unwrap());
    assert_eq!(p.arena_bytes(), 0, "nothing is planned, so nothing is copied");
    let mut inst = Instance::new(p).unwrap();
    inst.bind(x, Binding { buffer: buffer.clone(), offset: 16 }).unwrap();
    inst.run(&Run { cancel: &Cancel::new(), threads: 1 }).unwrap();
    let (place, at) = inst.locate(y).unwrap();
    assert_eq!((place.as_any().downcast_ref::<HostBuffer>().unwrap().address(), at), (address, 16));
    assert_eq!(data, [1.0, 2.0, 3.0, 4.0, 15.0, 18.0, 21.0, 24.0]);
}

#[test]
fn unbound_tensors_and_short_buffers_are_errors() {
    let mut g = Graph::new();
    let x = g.leaf(f32_desc(&[4]));
    let y = g.op(Square, &[x]).unwrap();
    g.keep(y);
    let mut inst = Instance::new(Arc::new(Program::compile(&g, &[CpuDevice::shared()]).unwrap())).unwrap();
    let e = inst.run(&Run { cancel: &Cancel::new(), threads: 1 }).unwrap_err();
    assert_eq!(e.kind(), Kind::Memory);
    let small = HostBuffer::zeroed(8).unwrap();
    assert!(inst.bind(x, Binding { buffer: small, offset: 0 }).is_err());
}

#[test]
fn a_cancelled_run_is_interrupted_and_the_next_one_works() {
    let mut g = Graph::new();
    let x = g.leaf(f32_desc(&[4]));
    let y = g.op(Square, &[x]).unwrap();
    g.keep(y);
    let mut r = Runner::new(&g, &[CpuDevice::shared()]);
    r.set(x, &[1.0, 2.0, 3.0, 4.0]);
    let cancel = Cancel::new();
    cancel.set();
    let e = r.inst.run(&Run { cancel: &cancel, threads: 1 }).unwrap_err();
    assert_eq!(e.kind(), Kind::Interrupted);
    r.run().unwrap();
    assert_eq!(r.get(y), [1.0, 4.0, 9.0, 16.0]);
}

#[test]
fn views_move_with_their_scalar() {
    let mut g = Graph::new();
    let x = g.leaf(f32_desc(&[8]));
    let v = g.op(common::Window { at: ggmlr_core::Scalar(0) }, &[x]).unwrap();
    let y = g.op(Square, &[v]).unwrap();
    g.keep(y);
    let mut r = Runner::new(&g, &[CpuDevice::shared()]);
    r.set(x, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]);
    for at in [0_usize, 3, 6] {
        r.inst.scalars_mut()[0] = (at * 4) as u64;
        r.run().unwrap();
        let first = (at + 1) as f32;
        assert_eq!(r.get(y), [first * first, (first + 1.0) * (first + 1.0)]);
    }
    // Past the end: an error, not foreign memory.
    r.inst.scalars_mut()[0] = 28;
    assert_eq!(r.run().unwrap_err().kind(), Kind::Internal);
}

#[test]
fn a_kept_view_of_outside_memory_is_readable_without_any_node() {
    let mut g = Graph::new();
    let x = g.leaf(f32_desc(&[8]));
    let v = g.op(common::Window { at: ggmlr_core::Scalar(8) }, &[x]).unwrap();
    g.keep(v);
    let mut r = Runner::new(&g, &[CpuDevice::shared()]);
    r.set(x, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]);
    r.run().unwrap();
    assert_eq!(r.get(v), [3.0, 4.0]);
}

#[test]
fn empty_values_run_through() {
    let mut g = Graph::new();
    let x = g.leaf(f32_desc(&[0, 3]));
    let y = g.op(Square, &[x]).unwrap();
    g.keep(y);
    let mut r = Runner::new(&g, &[CpuDevice::shared()]);
    r.set(x, &[]);
    r.run().unwrap();
    assert!(r.get(y).is_empty());
}

#[test]
fn helpers_convert() {
    assert_eq!(floats(&bytes_of(&[1.5, -2.0])), [1.5, -2.0]);
    assert_eq!(f32_desc(&[2]).dtype, DType::F32);
    assert!(HostBuffer::zeroed(0).unwrap().is_host());
}

#[test]
fn a_training_step_is_taken_as_a_whole_or_not_at_all() {
    // y = x^2; w *= 2 in place: cancelled from the start, then cancelled by the operator before the update.
    for early in [true, false] {
        let cancel = Cancel::new();
        let mut g = Graph::new();
        let x = g.leaf(f32_desc(&[4]));
        let w = g.leaf(f32_desc(&[4]));
        let y = g.op(Square, &[x]).unwrap();
        g.keep(y);
        let stop = common::Pull(cancel.clone());
        let first = g.add(Arc::new(Lin::new(2.0)), &[w], Some(0)).unwrap()[0];
        if !early {
            g.add(Arc::new(stop), &[first], Some(0)).unwrap();
            g.add(Arc::new(Lin::new(5.0)), &[w], Some(0)).unwrap();
        } else {
            cancel.set();
        }
        let mut r = Runner::new(&g, &[CpuDevice::shared()]);
        r.inst.keep_updates_whole();
        r.set(w, &[1.0; 4]);
        r.set(x, &[3.0; 4]);
        let done = r.inst.run(&Run { cancel: &cancel, threads: 1 });
        if early {
            assert_eq!(done.unwrap_err().kind(), Kind::Interrupted);
            assert_eq!(r.get(w), [1.0; 4]);
        } else {
            done.unwrap();
            assert_eq!(r.get(w), [10.0; 4]);
        }
    }
}
