//! Operators and devices made for the engine's tests.
#![allow(clippy::unwrap_used)]

use ggmlr_core::{
    Answer, Array, Binding, Buffer, BufferRef, Cancel, Class, CpuCall, DType, Desc, Descs, Device, DeviceKind, Effects,
    Grad, Key, Op, Part, Plan, Result, Scalar, Stream,
};
use ggmlr_cpu::{CpuDevice, HostBuffer};
use ggmlr_graph::{Graph, Instance, Program, Run, ValueId};
use smallvec::smallvec;
use std::collections::HashMap;
use std::sync::Arc;

pub fn f32_desc(ne: &[usize]) -> Desc {
    Desc::new(DType::F32, ne).unwrap()
}

pub fn bytes_of(x: &[f32]) -> Vec<u8> {
    bytemuck::cast_slice(x).to_vec()
}

pub fn floats(b: &[u8]) -> Vec<f32> {
    b.chunks_exact(4).map(|c| f32::from_le_bytes([c[0], c[1], c[2], c[3]])).collect()
}

/// A program with its leaves bound to fresh buffers.
pub struct Runner {
    pub inst: Instance,
    leaves: HashMap<ValueId, Arc<HostBuffer>>,
}

impl Runner {
    pub fn new(g: &Graph, devices: &[Arc<dyn Device>]) -> Runner {
        Runner::over(Arc::new(Program::compile(g, devices).unwrap()))
    }

    pub fn over(p: Arc<Program>) -> Runner {
        let mut inst = Instance::new(p.clone()).unwrap();
        let mut leaves = HashMap::new();
        for (i, n) in p.graph().nodes().iter().enumerate() {
            let v = ValueId { node: i as u32, out: 0 };
            if n.is_leaf() && inst.is_external(v) {
                let buffer = HostBuffer::zeroed(n.out[0].desc.span()).unwrap();
                inst.bind(v, Binding { buffer: buffer.clone(), offset: 0 }).unwrap();
                leaves.insert(v, buffer);
            }
        }
        Runner { inst, leaves }
    }

    pub fn set(&self, v: ValueId, x: &[f32]) {
        self.leaves[&v].write(0, &bytes_of(x)).unwrap();
    }

    pub fn run(&mut self) -> Result<()> {
        self.inst.run(&Run { cancel: &Cancel::new(), threads: 0 })
    }

    pub fn get(&self, v: ValueId) -> Vec<f32> {
        let mut out = vec![0; self.inst.desc(v).span()];
        self.inst.read(v, &mut out).unwrap();
        floats(&out)
    }
}

macro_rules! plain {
    ($name:literal) => {
        fn name(&self) -> &'static str {
            $name
        }
        fn oracle(&self, _x: &[&Array], _y: &mut [Array]) -> Result<()> {
            Ok(())
        }
    };
}

/// k x, with k outside the key; may take over its source.
#[derive(Clone, Debug)]
pub struct Lin(Scalar<f32>);

impl Lin {
    pub fn new(k: f32) -> Lin {
        Lin(Scalar(k))
    }
}

impl Op for Lin {
    plain!("test_lin");
    fn infer(&self, x: &[Desc]) -> Result<Descs> {
        Ok(smallvec![x[0].contiguous()])
    }
    fn key(&self, _k: &mut Key) {}
    fn scalars(&self, out: &mut Vec<u64>) {
        ggmlr_core::Field::scalars(&self.0, out);
    }
    fn effects(&self) -> Effects {
        Effects::pure().may_reuse(0)
    }
    fn cpu(&self, c: &mut CpuCall<'_>) -> Result<()> {
        let k = c.scalar(0) as f32;
        let x = c.get_unless_in_place::<f32>(0)?;
        let y = c.out::<f32>(0)?;
        match x {
            Some(x) => y.iter_mut().zip(x).for_each(|(y, x)| *y = k * x),
            None => y.iter_mut().for_each(|y| *y *= k),
        }
        Ok(())
    }
    fn grad(&self, g: &mut Grad<'_>) -> Result<()> {
        let dy = g.dy()?;
        let dx = g.op(self.clone(), &[dy])?;
        g.push(0, dx);
        Ok(())
    }
}

/// x^2; insists on memory of its own unless it is asked to work in place.
#[derive(Clone, Debug)]
pub struct Square;

impl Op for Square {
    plain!("test_square");
    fn infer(&self, x: &[Desc]) -> Result<Descs> {
        Ok(smallvec![x[0].contiguous()])
    }
    fn key(&self, _k: &mut Key) {}
    fn cpu(&self, c: &mut CpuCall<'_>) -> Result<()> {
        let x = c.get_unless_in_place::<f32>(0)?;
        let y = c.out::<f32>(0)?;
        match x {
            Some(x) => y.iter_mut().zip(x).for_each(|(y, x)| *y = x * x),
            None => y.iter_mut().for_each(|y| *y *= *y),
        }
        Ok(())
    }
    fn grad(&self, g: &mut Grad<'_>) -> Result<()> {
        let dy = g.dy()?;
        let twice = g.op(Lin::new(2.0), &[g.x(0)])?;
        let dx = g.op(Mul, &[dy, twice])?;
        g.push(0, dx);
        Ok(())
    }
}

macro_rules! pair_op {
    ($name:ident, $text:literal, $f:expr, |$g:ident| $grad:block) => {
        #[derive(Clone, Debug)]
        pub struct $name;
        impl Op for $name {
            plain!($text);
            fn infer(&self, x: &[Desc]) -> Result<Descs> {
                Ok(smallvec![x[0].contiguous()])
            }
            fn key(&self, _k: &mut Key) {}
            fn cpu(&self, c: &mut CpuCall<'_>) -> Result<()> {
                let f: fn(f32, f32) -> f32 = $f;
                let (a, b) = (c.get_unless_in_place::<f32>(0)?, c.get::<f32>(1)?);
                let y = c.out::<f32>(0)?;
                for i in 0..y.len() {
                    y[i] = f(a.map_or(y[i], |a| a[i]), b[i]);
                }
                Ok(())
            }
            fn grad(&self, $g: &mut Grad<'_>) -> Result<()> $grad
        }
    };
}

pair_op!(Add, "test_add", |a, b| a + b, |g| {
    let dy = g.dy()?;
    g.push(0, dy);
    g.push(1, dy);
    Ok(())
});
pair_op!(Mul, "test_mul", |a, b| a * b, |_g| { Ok(()) });

/// Two results: the halves of a vector.
#[derive(Clone, Debug)]
pub struct Halves;

impl Op for Halves {
    plain!("test_halves");
    fn infer(&self, x: &[Desc]) -> Result<Descs> {
        let d = f32_desc(&[x[0].ne[0] / 2]);
        Ok(smallvec![d, d])
    }
    fn key(&self, _k: &mut Key) {}
    fn cpu(&self, c: &mut CpuCall<'_>) -> Result<()> {
        let x = c.get::<f32>(0)?;
        let (a, b) = (c.out::<f32>(0)?, c.out::<f32>(1)?);
        let n = a.len();
        a.copy_from_slice(&x[..n]);
        b.copy_from_slice(&x[n..]);
        Ok(())
    }
    fn grad(&self, g: &mut Grad<'_>) -> Result<()> {
        let (Some(a), Some(b)) = (g.dy_of(0), g.dy_of(1)) else { return Ok(()) };
        let dx = g.op(Join, &[a, b])?;
        g.push(0, dx);
        Ok(())
    }
}

#[derive(Clone, Debug)]
struct Join;

impl Op for Join {
    plain!("test_join");
    fn infer(&self, x: &[Desc]) -> Result<Descs> {
        Ok(smallvec![f32_desc(&[x[0].ne[0] + x[1].ne[0]])])
    }
    fn key(&self, _k: &mut Key) {}
    fn cpu(&self, c: &mut CpuCall<'_>) -> Result<()> {
        let (a, b) = (c.get::<f32>(0)?, c.get::<f32>(1)?);
        let y = c.out::<f32>(0)?;
        y[..a.len()].copy_from_slice(a);
        y[a.len()..].copy_from_slice(b);
        Ok(())
    }
}

/// Has no gradient.
#[derive(Clone, Debug)]
pub struct NoRule;

impl Op for NoRule {
    plain!("test_no_rule");
    fn infer(&self, x: &[Desc]) -> Result<Descs> {
        Ok(smallvec![x[0].contiguous()])
    }
    fn key(&self, _k: &mut Key) {}
    fn cpu(&self, _c: &mut CpuCall<'_>) -> Result<()> {
        Ok(())
    }
}

/// A view of two elements.
#[derive(Clone, Debug)]
pub struct Window {
    pub at: Scalar<usize>,
}

impl Op for Window {
    plain!("test_window");
    fn infer(&self, _x: &[Desc]) -> Result<Descs> {
        Ok(smallvec![f32_desc(&[2])])
    }
    fn key(&self, _k: &mut Key) {}
    fn scalars(&self, out: &mut Vec<u64>) {
        ggmlr_core::Field::scalars(&self.at, out);
    }
    fn effects(&self) -> Effects {
        Effects::view_of(0)
    }
    fn view_offset(&self) -> usize {
        self.at.0
    }
    fn cpu(&self, _c: &mut CpuCall<'_>) -> Result<()> {
        Ok(())
    }
}

/// The CPU under another name, refusing some operators: mixed graphs with real numbers.
#[derive(Debug)]
pub struct Picky {
    name: String,
    refuses: Vec<&'static str>,
    cpu: Arc<dyn Device>,
}

impl Picky {
    pub fn shared(name: &str, refuses: &[&'static str]) -> Arc<dyn Device> {
        Arc::new(Picky { name: name.to_owned(), refuses: refuses.to_vec(), cpu: CpuDevice::shared() })
    }
}

impl Device for Picky {
    fn name(&self) -> &str {
        &self.name
    }
    fn description(&self) -> String {
        String::new()
    }
    fn kind(&self) -> DeviceKind {
        DeviceKind::Accelerator
    }
    fn memory(&self) -> (u64, u64) {
        (0, 0)
    }
    fn alloc(&self, bytes: usize, class: Class) -> Result<BufferRef> {
        self.cpu.alloc(bytes, class)
    }
    fn supports(&self, op: &dyn Op, x: &[Desc], y: &[Desc]) -> Answer {
        if self.refuses.contains(&op.name()) {
            return Answer::No("not here".to_owned());
        }
        self.cpu.supports(op, x, y)
    }
    fn compile(&self, part: Part) -> Result<Arc<dyn Plan>> {
        self.cpu.compile(part)
    }
    fn open(self: Arc<Self>) -> Result<Box<dyn Stream>> {
        self.cpu.clone().open()
    }
}

/// Copies its source and pulls the cancel flag, as a user does in the middle of a run.
#[derive(Clone, Debug)]
pub struct Pull(pub Cancel);

impl Op for Pull {
    plain!("test_pull");
    fn infer(&self, x: &[Desc]) -> Result<Descs> {
        Ok(smallvec![x[0].contiguous()])
    }
    fn key(&self, _k: &mut Key) {}
    fn cpu(&self, _c: &mut CpuCall<'_>) -> Result<()> {
        self.0.set();
        Ok(())
    }
}
