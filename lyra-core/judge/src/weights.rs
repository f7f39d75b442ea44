//! The weights; `scripts/judge/pack.py` writes them as two files that form one. Each section is in one
//! of them: the second file begins with the second layer.
//!
//! Little-endian. Header of 64 bytes: magic `LYRAJDG1`, then u32 version, word rows, hidden size, heads,
//! layers, inner size, positions. Sections follow in the order of [`Weights::parse`], each padded to 64
//! bytes. Only single-precision numbers are copied.

use super::kernel::Packed;

const MAGIC: &[u8; 8] = b"LYRAJDG1";
const VERSION: u32 = 2;
const HEADER: usize = 64;
/// Number of values in a row of the word table that share a scale.
pub(crate) const WORD_GROUP: usize = 32;

/// The sizes of the network.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shape {
    pub(crate) words: usize,
    pub(crate) hidden: usize,
    pub(crate) heads: usize,
    pub(crate) layers: usize,
    pub(crate) inner: usize,
    pub(crate) positions: usize,
}

/// A linear layer: byte weights with a scale and a bias for each output.
#[derive(Debug)]
pub(crate) struct Linear<'w> {
    pub(crate) packed: Packed<'w>,
    pub(crate) scales: Vec<f32>,
    pub(crate) bias: Vec<f32>,
}

#[derive(Debug)]
pub(crate) struct Norm {
    pub(crate) gain: Vec<f32>,
    pub(crate) shift: Vec<f32>,
}

#[derive(Debug)]
pub(crate) struct Layer<'w> {
    pub(crate) qkv: Linear<'w>,
    pub(crate) out: Linear<'w>,
    pub(crate) norm1: Norm,
    pub(crate) up: Linear<'w>,
    pub(crate) down: Linear<'w>,
    pub(crate) norm2: Norm,
}

/// The layer over the pooled pair and those above it: byte weights `[inputs][outputs]` with a scale for
/// each output.
#[derive(Debug)]
pub(crate) struct Head<'w> {
    pub(crate) pool: &'w [i8],
    pub(crate) pool_scales: Vec<f32>,
    pub(crate) pool_bias: Vec<f32>,
    pub(crate) stance: Classes,
    pub(crate) reading: Classes,
}

/// The last layer of a three-class head, weights `[class][hidden]`.
#[derive(Debug)]
pub(crate) struct Classes {
    pub(crate) weights: Vec<f32>,
    pub(crate) bias: Vec<f32>,
}

#[derive(Debug)]
pub(crate) struct Weights<'w> {
    pub(crate) shape: Shape,
    /// Half a byte per value, the earlier value in the lower half, offset by 8.
    words: &'w [u8],
    /// The upper halves of f32 scales, one for each [`WORD_GROUP`] values.
    word_scales: &'w [u8],
    positions: &'w [u8],
    pub(crate) kinds: Vec<f32>,
    pub(crate) norm: Norm,
    pub(crate) layers: Vec<Layer<'w>>,
    pub(crate) head: Head<'w>,
}

impl<'w> Weights<'w> {
    pub(crate) fn parse([data, more]: [&'w [u8]; 2]) -> Result<Self, String> {
        let header = data.get(..HEADER).ok_or("too short")?;
        let number = |i: usize| {
            let at = 8 + 4 * i;
            header[at..at + 4]
                .iter()
                .rev()
                .fold(0_usize, |n, b| n << 8 | usize::from(*b))
        };
        if &header[..8] != MAGIC || number(0) != VERSION as usize {
            return Err("not a file of weights of this version".to_owned());
        }
        let shape = Shape {
            words: number(1),
            hidden: number(2),
            heads: number(3),
            layers: number(4),
            inner: number(5),
            positions: number(6),
        };
        let (hidden, inner) = (shape.hidden, shape.inner);
        let fits = hidden.is_multiple_of(64)
            && inner.is_multiple_of(64)
            && shape.heads > 0
            && hidden.is_multiple_of(16 * shape.heads);
        if !fits || shape.layers > 64 {
            return Err(format!("sizes that no judge has: {shape:?}"));
        }
        let mut rest = Sections([&data[HEADER..], more]);
        let weights = Self {
            shape,
            words: rest.bytes(shape.words * hidden / 2)?,
            word_scales: rest.bytes(shape.words * hidden / WORD_GROUP * 2)?,
            positions: rest.bytes(shape.positions * hidden * 2)?,
            kinds: rest.reals(2 * hidden)?,
            norm: rest.norm(hidden)?,
            layers: (0..shape.layers)
                .map(|_| {
                    Ok(Layer {
                        qkv: rest.linear(hidden, 3 * hidden)?,
                        out: rest.linear(hidden, hidden)?,
                        norm1: rest.norm(hidden)?,
                        up: rest.linear(hidden, inner)?,
                        down: rest.linear(inner, hidden)?,
                        norm2: rest.norm(hidden)?,
                    })
                })
                .collect::<Result<_, String>>()?,
            head: Head {
                pool: as_signed(rest.bytes(5 * hidden * hidden)?),
                pool_scales: rest.reals(hidden)?,
                pool_bias: rest.reals(hidden)?,
                stance: rest.classes(hidden)?,
                reading: rest.classes(hidden)?,
            },
        };
        match rest.0.map(<[u8]>::len).iter().sum() {
            0 => {}
            left => return Err(format!("{left} bytes too many")),
        }
        Ok(weights)
    }

    /// Adds the rows of a word and a position to `row`.
    #[inline(always)]
    pub(crate) fn add_rows(&self, word: usize, position: usize, row: &mut [f32]) {
        let hidden = self.shape.hidden;
        let halves = &self.words[word * hidden / 2..(word + 1) * hidden / 2];
        let groups = hidden / WORD_GROUP;
        let scales = &self.word_scales[word * groups * 2..(word + 1) * groups * 2];
        let values = row
            .chunks_exact_mut(WORD_GROUP)
            .zip(halves.chunks_exact(WORD_GROUP / 2));
        for ((values, halves), scale) in values.zip(scales.chunks_exact(2)) {
            let scale = upper_half(scale);
            for (pair, byte) in values.chunks_exact_mut(2).zip(halves) {
                pair[0] += scale * (f32::from(byte & 15) - 8.0);
                pair[1] += scale * (f32::from(byte >> 4) - 8.0);
            }
        }
        let bytes = &self.positions[position * hidden * 2..(position + 1) * hidden * 2];
        for (value, half) in row.iter_mut().zip(bytes.chunks_exact(2)) {
            *value += upper_half(half);
        }
    }
}

/// A number in single precision whose lower half is zero.
#[inline(always)]
fn upper_half(bytes: &[u8]) -> f32 {
    f32::from_bits(u32::from(bytes[0]) << 16 | u32::from(bytes[1]) << 24)
}

/// The unread parts of both files.
struct Sections<'w>([&'w [u8]; 2]);

impl<'w> Sections<'w> {
    fn bytes(&mut self, count: usize) -> Result<&'w [u8], String> {
        let padded = count.next_multiple_of(64);
        if self.0[0].is_empty() {
            self.0.swap(0, 1);
        }
        let file = self.0[0];
        if file.len() < padded {
            return Err(format!("{} bytes where {padded} were expected", file.len()));
        }
        let (section, rest) = file.split_at(padded);
        self.0[0] = rest;
        Ok(&section[..count])
    }

    fn reals(&mut self, count: usize) -> Result<Vec<f32>, String> {
        let bytes = self.bytes(4 * count)?.chunks_exact(4);
        Ok(bytes
            .map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]]))
            .collect())
    }

    fn norm(&mut self, hidden: usize) -> Result<Norm, String> {
        Ok(Norm {
            gain: self.reals(hidden)?,
            shift: self.reals(hidden)?,
        })
    }

    fn classes(&mut self, hidden: usize) -> Result<Classes, String> {
        Ok(Classes {
            weights: self.reals(3 * hidden)?,
            bias: self.reals(3)?,
        })
    }

    fn linear(&mut self, inputs: usize, outputs: usize) -> Result<Linear<'w>, String> {
        let lines = self.bytes(inputs * outputs)?;
        Ok(Linear {
            packed: Packed {
                lines,
                inputs,
                outputs,
            },
            scales: self.reals(outputs)?,
            bias: self.reals(outputs)?,
        })
    }
}

#[allow(
    unsafe_code,
    reason = "a view of bytes as signed bytes, which the standard library lacks"
)]
fn as_signed(bytes: &[u8]) -> &[i8] {
    // SAFETY: u8 and i8 have the same size, alignment and no invalid values.
    unsafe { std::slice::from_raw_parts(bytes.as_ptr().cast::<i8>(), bytes.len()) }
}
