//! Interprets a plan: resolves operands, packs what a kernel does not accept, calls the kernels in order.

use crate::buffer::{Extent, HostBuffer, Locked, overlap};
use crate::pool::RunPool;
use ggmlr_core::{CpuCall, Desc, Dst, Error, Kind, Layout, Operand, Part, Plan, Pool, Result, Src, Step, Submit};
use ggmlr_simd::copy::copy_strided;
use ggmlr_simd::fpmode::FlushDenormals;
use smallvec::SmallVec;
use std::any::Any;

/// Packed operands start at multiples of this.
const PACK_ALIGN: usize = 64;

/// What a step needs besides its operands, known beforehand.
#[derive(Debug)]
struct Ready {
    step: Step,
    /// Sources that the kernel wants packed.
    pack: SmallVec<[bool; 4]>,
    /// Results that the kernel computes contiguously although their place is strided.
    unpack: SmallVec<[bool; 1]>,
    /// Contiguous descriptions of packed operands.
    packed_src: SmallVec<[Desc; 4]>,
    packed_dst: SmallVec<[Desc; 1]>,
    flush: bool,
}

impl Ready {
    fn new(step: Step) -> Ready {
        let accepts = |i: usize, d: &Desc| match step.op.layout(i) {
            Layout::Any => true,
            Layout::Rows => d.has_contiguous_rows(),
            Layout::Contiguous => d.is_contiguous(),
        };
        let strided = step.op.strided_out();
        Ready {
            pack: step.src.iter().enumerate().map(|(i, s)| !accepts(i, &s.desc)).collect(),
            unpack: step.dst.iter().map(|d| !strided && !d.desc.is_contiguous()).collect(),
            packed_src: step.src.iter().map(|s| s.desc.contiguous()).collect(),
            packed_dst: step.dst.iter().map(|d| d.desc.contiguous()).collect(),
            flush: step.op.flush_denormals(),
            step,
        }
    }
}

/// A part ready for the interpreter.
#[derive(Debug)]
pub(crate) struct CpuPlan {
    steps: Vec<Ready>,
}

impl Plan for CpuPlan {
    fn as_any(&self) -> &dyn Any {
        self
    }
}

fn extent(o: &Operand, scalars: &[u64]) -> Extent {
    let shift: usize = o.shifts.iter().map(|&w| scalars.get(w as usize).map_or(0, |&v| v as usize)).sum();
    Extent { slot: o.slot, offset: o.offset + shift, len: o.desc.span() }
}

fn copy(src: &[u8], from: &Desc, dst: &mut [u8], to: &Desc) -> Result<()> {
    let (mut ne, mut from_nb, mut to_nb) = (from.ne, from.nb, to.nb);
    let mut unit = from.dtype.bytes();
    if from.dtype.block() > 1 {
        // Blocks of a row lie side by side: copy their bytes.
        ne[0] = ne[0] / from.dtype.block() * unit;
        (unit, from_nb[0], to_nb[0]) = (1, 1, 1);
    }
    copy_strided(unit, &ne, src, &from_nb, dst, &to_nb).map_err(|e| Error::internal(format!("packing {from:?}: {e}")))
}

/// Where a source of the call comes from.
#[derive(Clone, Copy)]
enum From {
    /// The `i`-th range read directly.
    Direct(usize),
    /// The `i`-th packed block.
    Packed(usize),
    /// The memory of this result.
    Result(usize),
}

impl CpuPlan {
    pub fn new(part: Part) -> CpuPlan {
        CpuPlan { steps: part.steps.into_iter().map(Ready::new).collect() }
    }

    pub fn run(&self, run: &Submit<'_>, pool: &RunPool<'_>, scratch: &mut Vec<u64>) -> Result<()> {
        for b in run.bindings {
            if b.buffer.as_any().downcast_ref::<HostBuffer>().is_none() {
                return Err(Error::internal(format!("the CPU cannot reach memory of {}", b.buffer.device())));
            }
        }
        let hosts = run.bindings.iter().filter_map(|b| b.buffer.as_any().downcast_ref().map(|h| (h, b.offset)));
        let mut locked = Locked::new(hosts)?;
        for ready in &self.steps {
            if run.whole_updates && ready.step.updates {
                pool.ignore_cancel();
            }
            if pool.cancelled() {
                return Err(Error::new(Kind::Interrupted, "the computation was interrupted"));
            }
            let _flush = ready.flush.then(FlushDenormals::new);
            pool.set_flush(ready.flush);
            step(ready, run.scalars, &mut locked, pool, scratch).map_err(|e| e.op(ready.step.op.name()))?;
        }
        // A cancel during the last kernel leaves its blocks undone.
        if pool.cancelled() {
            return Err(Error::new(Kind::Interrupted, "the computation was interrupted"));
        }
        Ok(())
    }
}

fn step(
    ready: &Ready,
    scalars: &[u64],
    locked: &mut Locked<'_>,
    pool: &RunPool<'_>,
    scratch: &mut Vec<u64>,
) -> Result<()> {
    let s = &ready.step;
    if s.dst.iter().all(|d| d.desc.is_empty()) {
        return Ok(());
    }
    let writes: SmallVec<[Extent; 2]> = s.dst.iter().map(|d| extent(d, scalars)).collect();
    let mut reads: SmallVec<[Extent; 4]> = SmallVec::new();
    let mut packs: SmallVec<[(usize, Extent); 4]> = SmallVec::new();
    let mut from: SmallVec<[From; 4]> = SmallVec::new();
    for (i, src) in s.src.iter().enumerate() {
        if let Some(r) = s.into.iter().position(|j| *j == Some(i as u8)) {
            from.push(From::Result(r));
            continue;
        }
        let mut e = extent(src, scalars);
        if s.op.shape_only(i) {
            // Its values are not read, so it may share memory with anything.
            e.len = 0;
            from.push(From::Direct(reads.len()));
            reads.push(e);
            continue;
        }
        let address = locked.address(e)?;
        let mut must_pack = ready.pack[i];
        if !must_pack {
            // The same tensor given twice to an in-place operator: the kernel must see the old values.
            for w in &writes {
                must_pack |= overlap(&address, &locked.address(*w)?);
            }
        }
        if must_pack {
            from.push(From::Packed(packs.len()));
            packs.push((i, e));
        } else {
            from.push(From::Direct(reads.len()));
            reads.push(e);
        }
    }
    if packs.is_empty() && !ready.unpack.contains(&true) {
        return call(ready, scalars, locked, pool, &reads, &writes, &from);
    }
    packed(ready, scalars, locked, pool, scratch, &reads, &writes, &packs, &from)
}

/// The common case: every operand is used where it lies.
fn call(
    ready: &Ready,
    scalars: &[u64],
    locked: &mut Locked<'_>,
    pool: &RunPool<'_>,
    reads: &[Extent],
    writes: &[Extent],
    from: &[From],
) -> Result<()> {
    let s = &ready.step;
    let (r, w) = locked.operands(reads, writes)?;
    let src = s
        .src
        .iter()
        .zip(from)
        .map(|(o, f)| match *f {
            From::Result(result) => Src::InPlace { desc: &o.desc, result },
            From::Direct(i) | From::Packed(i) => Src::Data { desc: &o.desc, bytes: r[i] },
        })
        .collect();
    let dst = s.dst.iter().zip(w).map(|(o, bytes)| Dst { desc: &o.desc, bytes }).collect();
    s.op.cpu(&mut CpuCall { src, dst, scalars: &scalars[s.scalars.clone()], pool })
}

/// Some operands go through scratch memory.
#[allow(clippy::too_many_arguments)]
fn packed(
    ready: &Ready,
    scalars: &[u64],
    locked: &mut Locked<'_>,
    pool: &RunPool<'_>,
    scratch: &mut Vec<u64>,
    reads: &[Extent],
    writes: &[Extent],
    packs: &[(usize, Extent)],
    from: &[From],
) -> Result<()> {
    let s = &ready.step;
    let round = |n: usize| n.next_multiple_of(PACK_ALIGN);
    let src_bytes: usize = packs.iter().map(|(i, _)| round(ready.packed_src[*i].bytes())).sum();
    let dst_bytes: usize =
        (0..s.dst.len()).filter(|&j| ready.unpack[j]).map(|j| round(ready.packed_dst[j].bytes())).sum();
    scratch.resize((src_bytes + dst_bytes).div_ceil(8).max(scratch.len()), 0);
    let bytes: &mut [u8] = bytemuck::cast_slice_mut(scratch.as_mut_slice());
    let (mut src_rest, mut dst_rest) = bytes.split_at_mut(src_bytes);

    let mut src_blocks: SmallVec<[&[u8]; 4]> = SmallVec::new();
    for (i, e) in packs {
        let n = ready.packed_src[*i].bytes();
        let (block, rest) = src_rest.split_at_mut(round(n));
        let (r, _) = locked.operands(&[*e], &[])?;
        copy(r[0], &s.src[*i].desc, &mut block[..n], &ready.packed_src[*i])?;
        src_blocks.push(&block[..n]);
        src_rest = rest;
    }
    let mut dst_blocks: SmallVec<[Option<&mut [u8]>; 1]> = SmallVec::new();
    for j in 0..s.dst.len() {
        if !ready.unpack[j] {
            dst_blocks.push(None);
            continue;
        }
        let n = ready.packed_dst[j].bytes();
        let (block, rest) = dst_rest.split_at_mut(round(n));
        dst_rest = rest;
        let block = &mut block[..n];
        // A source that lives in the result's memory must be found in the block that stands for it.
        if s.into[j].is_some() {
            let (r, _) = locked.operands(&[writes[j]], &[])?;
            copy(r[0], &s.dst[j].desc, block, &ready.packed_dst[j])?;
        }
        dst_blocks.push(Some(block));
    }

    let direct: SmallVec<[Extent; 2]> = (0..writes.len()).filter(|&j| !ready.unpack[j]).map(|j| writes[j]).collect();
    {
        let (r, w) = locked.operands(reads, &direct)?;
        let src = s
            .src
            .iter()
            .zip(from)
            .enumerate()
            .map(|(i, (o, f))| match *f {
                From::Result(result) => {
                    let desc = if ready.unpack[result] { &ready.packed_dst[result] } else { &o.desc };
                    Src::InPlace { desc, result }
                }
                From::Direct(k) => Src::Data { desc: &o.desc, bytes: r[k] },
                From::Packed(k) => Src::Data { desc: &ready.packed_src[i], bytes: src_blocks[k] },
            })
            .collect();
        let mut w = w.into_iter();
        let mut dst = SmallVec::new();
        for (j, block) in dst_blocks.iter_mut().enumerate() {
            let d = match block {
                Some(b) => Dst { desc: &ready.packed_dst[j], bytes: b },
                None => Dst {
                    desc: &s.dst[j].desc,
                    bytes: w.next().ok_or_else(|| Error::internal("a result lost its memory"))?,
                },
            };
            dst.push(d);
        }
        s.op.cpu(&mut CpuCall { src, dst, scalars: &scalars[s.scalars.clone()], pool })?;
    }
    for (j, block) in dst_blocks.iter().enumerate() {
        if let Some(b) = block {
            let (_, mut w) = locked.operands(&[], &[writes[j]])?;
            copy(b, &ready.packed_dst[j], w[0], &s.dst[j].desc)?;
        }
    }
    Ok(())
}
