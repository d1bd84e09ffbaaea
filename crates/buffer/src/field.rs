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

/// Bytes of a buffer's metadata that features may reserve for fields: a cache line of their own.
pub const FIELD_BYTES: usize = 64;
/// Bytes that they may reserve for rare fields ([`FieldValue::RARE`]): two more lines, so that the
/// lines of a slot are still odd in number.
pub const RARE_FIELD_BYTES: usize = 128;
/// Bytes of all fields.
pub(crate) const ALL_BYTES: usize = FIELD_BYTES + RARE_FIELD_BYTES;

/// Bytes that fields share, and the numbers of these fields: bit N of a buffer's `fields_set` tells
/// if field N was written.
struct Room {
    bytes: Range<usize>,
    numbers: Range<u32>,
}

const MOST: Room = Room { bytes: 0..FIELD_BYTES, numbers: 0..24 };
const RARE: Room = Room { bytes: FIELD_BYTES..ALL_BYTES, numbers: 24..u32::BITS };
/// Bits of all rare fields.
const RARE_BITS: u32 = u32::MAX << RARE.numbers.start;

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
/// and no longer than all such fields together may be:
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
pub trait FieldValue: Plain {
    /// True for a large field that few packets have: it lies in cache lines that only such fields
    /// touch.
    const RARE: bool = false;
    /// Name of a group of fields of which a packet never has two: they share bytes. A node that
    /// writes one clears the others before, unless the packet can't have them.
    const GROUP: Option<&'static str> = None;
}

/// Where every buffer of a pool keeps a value of type `T`: see [`Pool::reserve_field`].
pub struct Field<T> {
    /// The bit of its number.
    bit: u32,
    /// The bits of the other fields of its group.
    others: u32,
    /// Offset of its first byte. It ends within [`ALL_BYTES`].
    at: u8,
    value: PhantomData<fn() -> T>,
}

impl<T> Clone for Field<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Field<T> {}

impl<T: FieldValue> Field<T> {
    const ROOM: Room = {
        let room = if T::RARE { RARE } else { MOST };
        assert!(size_of::<T>() <= room.bytes.end - room.bytes.start, "the field is too large");
        room
    };

    #[inline(always)]
    fn is_set(self, b: &Buffer) -> bool {
        b.fields_set & self.bit != 0
    }

    #[inline(always)]
    fn at(self) -> usize {
        usize::from(self.at)
    }
}

impl<T> fmt::Debug for Field<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {}", type_name::<T>(), self.at)
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
        debug_assert!(field.is_set(self), "{} was not written", type_name::<T>());
        T::load(&self.fields[field.at()..])
    }

    /// The value that an earlier node wrote, if one did. Touches the line of fields only then.
    #[inline(always)]
    pub fn find_field<T: FieldValue>(&self, field: Field<T>) -> Option<T> {
        field.is_set(self).then(|| T::load(&self.fields[field.at()..]))
    }

    /// Keeps a value until the packet is freed, in copies too.
    ///
    /// # Panics
    /// In debug builds, if another field of its group is set. In other builds that field then has
    /// any value.
    #[inline(always)]
    pub fn set_field<T: FieldValue>(&mut self, field: Field<T>, value: T) {
        debug_assert!(
            self.fields_set & field.others == 0,
            "{} is written while another field of its group is set",
            type_name::<T>()
        );
        self.fields_set |= field.bit;
        value.store(&mut self.fields[field.at()..]);
    }

    /// Forgets the value: what it says isn't true of the packet any more.
    #[inline(always)]
    pub fn clear_field<T: FieldValue>(&mut self, field: Field<T>) {
        self.fields_set &= !field.bit;
    }

    /// Takes over all values of another packet.
    #[inline(always)]
    pub(crate) fn copy_fields(&mut self, from: &Buffer) {
        self.fields_set = from.fields_set;
        if from.fields_set != 0 {
            self.fields[MOST.bytes].copy_from_slice(&from.fields[MOST.bytes]);
            if from.fields_set & RARE_BITS != 0 {
                self.fields[RARE.bytes].copy_from_slice(&from.fields[RARE.bytes]);
            }
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
    /// Its bytes within all fields; rare ones begin at [`FIELD_BYTES`].
    pub bytes: Range<usize>,
    /// Its group, if it has one.
    pub group: Option<&'static str>,
}

struct Reserved {
    id: TypeId,
    number: u32,
    info: FieldInfo,
}

/// The fields of a pool.
#[derive(Default)]
pub(crate) struct Fields(Mutex<Vec<Reserved>>);

impl Fields {
    fn all(&self) -> MutexGuard<'_, Vec<Reserved>> {
        self.0.lock().expect("no panic inside")
    }

    /// Gives all fields back, for another instance.
    pub fn clear(&self) {
        self.all().clear();
    }
}

impl Pool {
    /// Reserves a field for values of this type in every buffer, for as long as the instance lives:
    /// the first bytes that only fields of its group have, if it is of one. A type that was
    /// reserved before keeps its field: that is how plugins share one.
    ///
    /// # Errors
    /// Too few bytes are left, or no number; says which plugin has how many bytes.
    pub fn reserve_field<T: FieldValue>(&self, owner: &'static str) -> Result<(), String> {
        let (Room { bytes: room, numbers }, size) = (Field::<T>::ROOM, size_of::<T>());
        let mut all = self.fields.all();
        if all.iter().any(|field| field.id == TypeId::of::<T>()) {
            return Ok(());
        }
        let is_free = |bytes: &Range<usize>| {
            all.iter().map(|field| &field.info).all(|FieldInfo { bytes: taken, group, .. }| {
                let apart = taken.end <= bytes.start || bytes.end <= taken.start;
                apart || group.is_some() && *group == T::GROUP
            })
        };
        let bytes = (room.start..=room.end - size).map(|at| at..at + size).find(is_free);
        let number = numbers.clone().find(|n| all.iter().all(|field| field.number != *n));
        let (Some(bytes), Some(number)) = (bytes, number) else {
            let left = room.clone().filter(|at| is_free(&(*at..at + 1))).count();
            let mut why = format!(
                "packets have {} bytes for {} {}fields, and {left} left for the {size} of {}; \
                 reserved are",
                room.len(),
                numbers.len(),
                if T::RARE { "rare " } else { "" },
                type_name::<T>(),
            );
            for Reserved { info: FieldInfo { owner, value, bytes, .. }, .. } in
                all.iter().filter(|field| numbers.contains(&field.number))
            {
                let _ = write!(why, " {} by {owner} for {value},", bytes.len());
            }
            why.pop();
            return Err(why);
        };
        let info = FieldInfo { owner, value: type_name::<T>(), bytes, group: T::GROUP };
        all.push(Reserved { id: TypeId::of::<T>(), number, info });
        Ok(())
    }

    /// The field for values of this type, if it was reserved.
    pub fn field<T: FieldValue>(&self) -> Option<Field<T>> {
        let all = self.fields.all();
        let own = all.iter().find(|field| field.id == TypeId::of::<T>())?;
        let (bit, at) = (1 << own.number, own.info.bytes.start as u8);
        let of_group =
            all.iter().filter(|field| T::GROUP.is_some() && field.info.group == T::GROUP);
        let others = of_group.fold(0, |bits, field| bits | 1 << field.number) & !bit;
        Some(Field { bit, others, at, value: PhantomData })
    }

    /// All fields, in the order of their reservation.
    pub fn fields(&self) -> Vec<FieldInfo> {
        self.fields.all().iter().map(|field| field.info.clone()).collect()
    }
}
