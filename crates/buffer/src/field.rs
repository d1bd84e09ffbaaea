// SPDX-License-Identifier: Apache-2.0
//! Metadata that features reserve room for.

use crate::header::Buffer;
use crate::pool::Pool;
use mem::Plain;
use std::any::{TypeId, type_name};
use std::fmt::{self, Write};
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::{Mutex, MutexGuard};

#[cfg(feature = "tests")]
mod tests;

/// Bytes of a buffer's metadata that features may reserve: a cache line of their own.
pub const FIELD_BYTES: usize = 64;

/// A field begins at a multiple of so many bytes; for each of these cells a bit says whether a
/// field that begins there was written.
const CELL: usize = FIELD_BYTES / u16::BITS as usize;

/// A value that a packet keeps from the node that writes it until the packet is freed, whatever
/// nodes it passes. Implement it for a type of your own, so that no other feature means something
/// else by it:
///
/// ```
/// use zerocopy::{FromBytes, Immutable, IntoBytes};
///
/// /// The bridge domain that a frame came in by.
/// #[derive(Clone, Copy, Default, PartialEq, Debug, FromBytes, IntoBytes, Immutable)]
/// #[repr(transparent)]
/// struct Bridge(u32);
/// impl buffer::FieldValue for Bridge {}
///
/// let pool = buffer::Pool::new(63).unwrap();
/// pool.reserve_field::<Bridge>("l2").unwrap();
/// let bridge = pool.field::<Bridge>().unwrap();
///
/// let mut cache = buffer::Cache::new(pool);
/// let mut packet = cache.alloc().unwrap();
/// assert_eq!(packet.find_field(bridge), None);
/// packet.set_field(bridge, Bridge(7));
/// assert_eq!(packet.field(bridge), Bridge(7));
/// # cache.free(packet);
/// ```
///
/// It is plain data:
///
/// ```compile_fail,E0277
/// #[derive(Clone, Copy, Default)]
/// struct Name(&'static str);
/// impl buffer::FieldValue for Name {}
/// ```
///
/// and no longer than all fields together may be:
///
/// ```compile_fail,E0080
/// # use zerocopy::{FromBytes, Immutable, IntoBytes};
/// #[derive(Clone, Copy, Default, FromBytes, IntoBytes, Immutable)]
/// #[repr(C)]
/// struct Large([u32; 17]);
/// impl buffer::FieldValue for Large {}
/// # let pool = buffer::Pool::new(63).unwrap();
/// pool.reserve_field::<Large>("large");
/// ```
pub trait FieldValue: Plain {}

/// Where every buffer of a pool keeps a value of type `T`: see [`Pool::reserve_field`].
pub struct Field<T> {
    /// The cell that it begins at. It ends within [`FIELD_BYTES`].
    cell: u8,
    value: PhantomData<fn() -> T>,
}

impl<T> Clone for Field<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Field<T> {}

impl<T: FieldValue> Field<T> {
    /// Cells that it takes: a type without bytes has one, whose bit is its value.
    const CELLS: usize = {
        assert!(size_of::<T>() <= FIELD_BYTES, "a field has at most 64 bytes");
        if size_of::<T>() == 0 { 1 } else { size_of::<T>().div_ceil(CELL) }
    };

    #[inline(always)]
    fn bit(self) -> u16 {
        1 << self.cell
    }

    #[inline(always)]
    fn at(self) -> usize {
        usize::from(self.cell) * CELL
    }
}

impl<T> fmt::Debug for Field<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {}", type_name::<T>(), usize::from(self.cell) * CELL)
    }
}

impl Buffer {
    /// The value that an earlier node wrote. Without one it is any value: [`Self::find_field`] is
    /// for packets that may have none.
    ///
    /// # Panics
    /// In debug builds, if it wasn't written since the buffer was allocated.
    #[inline(always)]
    pub fn field<T: FieldValue>(&self, field: Field<T>) -> T {
        debug_assert!(self.fields_set & field.bit() != 0, "{} was not written", type_name::<T>());
        T::load(&self.fields[field.at()..])
    }

    /// The value that an earlier node wrote, if one did. Touches the line of fields only then.
    #[inline(always)]
    pub fn find_field<T: FieldValue>(&self, field: Field<T>) -> Option<T> {
        (self.fields_set & field.bit() != 0).then(|| T::load(&self.fields[field.at()..]))
    }

    /// Keeps a value until the packet is freed, in copies too.
    #[inline(always)]
    pub fn set_field<T: FieldValue>(&mut self, field: Field<T>, value: T) {
        self.fields_set |= field.bit();
        value.store(&mut self.fields[field.at()..]);
    }

    /// Forgets the value: what it says isn't true of the packet any more.
    #[inline(always)]
    pub fn clear_field<T: FieldValue>(&mut self, field: Field<T>) {
        self.fields_set &= !field.bit();
    }

    /// Takes over all values of another packet.
    #[inline(always)]
    pub(crate) fn copy_fields(&mut self, from: &Buffer) {
        self.fields_set = from.fields_set;
        if from.fields_set != 0 {
            self.fields = from.fields;
        }
    }
}

/// A field as a pool knows it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FieldInfo {
    /// The plugin that reserved it first.
    pub owner: &'static str,
    /// The name of its type.
    pub value: &'static str,
    /// Its bytes within the line of fields.
    pub bytes: Range<usize>,
}

/// The fields of a pool.
#[derive(Default)]
pub(crate) struct Fields(Mutex<Vec<(TypeId, FieldInfo)>>);

impl Fields {
    fn all(&self) -> MutexGuard<'_, Vec<(TypeId, FieldInfo)>> {
        self.0.lock().expect("no panic inside")
    }

    /// Gives all fields back, for another instance.
    pub fn clear(&self) {
        self.all().clear();
    }
}

impl Pool {
    /// Reserves a field for values of this type in every buffer, for as long as the instance lives.
    /// A type that was reserved before keeps its field: that is how plugins share one.
    ///
    /// # Errors
    /// Too few bytes are left; says which plugin has how many.
    pub fn reserve_field<T: FieldValue>(&self, owner: &'static str) -> Result<(), String> {
        let mut all = self.fields.all();
        if all.iter().any(|(id, _)| *id == TypeId::of::<T>()) {
            return Ok(());
        }
        let (at, bytes) =
            (all.last().map_or(0, |(_, last)| last.bytes.end), Field::<T>::CELLS * CELL);
        if at + bytes > FIELD_BYTES {
            let mut why =
                format!("packets have {FIELD_BYTES} bytes of fields, and {}", FIELD_BYTES - at);
            let _ = write!(why, " left for the {bytes} of {}; reserved are", type_name::<T>());
            for (_, FieldInfo { owner, value, bytes }) in &*all {
                let _ = write!(why, " {} by {owner} for {value},", bytes.len());
            }
            why.pop();
            return Err(why);
        }
        let info = FieldInfo { owner, value: type_name::<T>(), bytes: at..at + bytes };
        all.push((TypeId::of::<T>(), info));
        Ok(())
    }

    /// The field for values of this type, if it was reserved.
    pub fn field<T: FieldValue>(&self) -> Option<Field<T>> {
        let all = self.fields.all();
        let (_, info) = all.iter().find(|(id, _)| *id == TypeId::of::<T>())?;
        Some(Field { cell: (info.bytes.start / CELL) as u8, value: PhantomData })
    }

    /// All fields, in order.
    pub fn fields(&self) -> Vec<FieldInfo> {
        self.fields.all().iter().map(|(_, info)| info.clone()).collect()
    }
}
