// SPDX-License-Identifier: Apache-2.0
//! Operations on buffers that safe code is refused: each would break the ownership that this crate
//! rests on, and doesn't compile. The last line of each example is refused; the first example shows
//! that the lines before it compile.
//!
//! ```
//! # let pool = buffer::Pool::new(63).unwrap();
//! # let mut cache = buffer::Cache::new(pool);
//! let (mut a, mut b) = (cache.alloc().unwrap(), cache.alloc().unwrap());
//! let mut frame = buffer::Frame::new(pool);
//! std::mem::swap(&mut a, &mut b); // handles, not buffers
//! a.flags = b.flags;
//! ```
//!
//! Swapping buffers: their addresses are their names.
//!
//! ```compile_fail,E0277
//! # let pool = buffer::Pool::new(63).unwrap();
//! # let mut cache = buffer::Cache::new(pool);
//! let (mut a, mut b) = (cache.alloc().unwrap(), cache.alloc().unwrap());
//! std::mem::swap(&mut *a, &mut *b);
//! ```
//!
//! ```compile_fail,E0277
//! fn swap(a: &mut buffer::Buffer, b: &mut buffer::Buffer) {
//!     std::mem::swap(a, b);
//! }
//! ```
//!
//! Moving a buffer out of its slot:
//!
//! ```compile_fail,E0277
//! # let pool = buffer::Pool::new(63).unwrap();
//! # let mut cache = buffer::Cache::new(pool);
//! let a = cache.alloc().unwrap();
//! let moved = *a;
//! ```
//!
//! Links by flags:
//!
//! ```compile_fail,E0599
//! # let pool = buffer::Pool::new(63).unwrap();
//! # let mut cache = buffer::Cache::new(pool);
//! let mut a = cache.alloc().unwrap();
//! a.flags.insert(buffer::Flags::CHAINED);
//! ```
//!
//! Links, and references on segments, by hand:
//!
//! ```compile_fail,E0616
//! # let pool = buffer::Pool::new(63).unwrap();
//! # let mut cache = buffer::Cache::new(pool);
//! let (mut a, b) = (cache.alloc().unwrap(), cache.alloc().unwrap());
//! a.next = b.next;
//! ```
//!
//! ```compile_fail,E0616
//! # let pool = buffer::Pool::new(63).unwrap();
//! # let mut cache = buffer::Cache::new(pool);
//! let mut a = cache.alloc().unwrap();
//! *a.refs.get_mut() = 2;
//! ```
//!
//! A second owner:
//!
//! ```compile_fail,E0599
//! # let pool = buffer::Pool::new(63).unwrap();
//! # let mut cache = buffer::Cache::new(pool);
//! let a = cache.alloc().unwrap();
//! let b = a.clone();
//! ```
//!
//! Changing a packet that copies share:
//!
//! ```compile_fail,E0599
//! # let pool = buffer::Pool::new(63).unwrap();
//! # let mut cache = buffer::Cache::new(pool);
//! let mut original = cache.alloc().unwrap().into_original(64);
//! original.data_mut()[0] = 1;
//! ```
//!
//! ```compile_fail,E0382
//! # let pool = buffer::Pool::new(63).unwrap();
//! # let mut cache = buffer::Cache::new(pool);
//! let mut a = cache.alloc().unwrap();
//! let original = a.into_original(64);
//! a.data_mut()[0] = 1;
//! ```
//!
//! Sharing a packet that stays in a frame:
//!
//! ```compile_fail,E0599
//! # let pool = buffer::Pool::new(63).unwrap();
//! # let mut cache = buffer::Cache::new(pool);
//! let mut frame = buffer::Frame::new(pool);
//! cache.alloc_frame(&mut frame, 1);
//! frame.get_mut(0).into_original(64);
//! ```
//!
//! Naming packets of a frame twice:
//!
//! ```compile_fail,E0133
//! # let pool = buffer::Pool::new(63).unwrap();
//! let (mut one, other) = (buffer::Frame::new(pool), buffer::Frame::new(pool));
//! one.take_one(&other, 0);
//! ```
//!
//! A buffer that outlives its place in a frame:
//!
//! ```compile_fail,E0499
//! # let pool = buffer::Pool::new(63).unwrap();
//! # let mut cache = buffer::Cache::new(pool);
//! let mut frame = buffer::Frame::new(pool);
//! cache.alloc_frame(&mut frame, 1);
//! let first = frame.get_mut(0);
//! cache.free_frame(&mut frame);
//! first.mark_l2();
//! ```
