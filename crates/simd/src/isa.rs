// SPDX-License-Identifier: Apache-2.0
//! Instruction-set levels, and one generic body compiled for each of them.

use core::fmt;
use core::str::FromStr;
use std::sync::OnceLock;

/// An instruction-set level of the x86-64 psABI. Ordered: a processor that has a level has those
/// below.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// The baseline, x86-64-v1 (SSE2); on other processors plain scalar code.
    V1,
    /// x86-64-v3: AVX2, BMI, FMA.
    V3,
    /// x86-64-v4: AVX-512 F, BW, CD, DQ, VL and nothing beyond (no VBMI2, no VPOPCNTDQ).
    V4,
}

impl Level {
    /// Every level, lowest first.
    pub const ALL: [Self; 3] = [Self::V1, Self::V3, Self::V4];

    /// The highest level that this processor and its operating system have. Looked up once.
    pub fn detect() -> Self {
        static LEVEL: OnceLock<Level> = OnceLock::new();
        *LEVEL.get_or_init(detect)
    }

    /// Returns true if this machine can run code of this level.
    pub fn is_supported(self) -> bool {
        self <= Self::detect()
    }

    /// `"v1"`, `"v3"` or `"v4"`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::V1 => "v1",
            Self::V3 => "v3",
            Self::V4 => "v4",
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Level {
    type Err = ParseLevelError;

    fn from_str(s: &str) -> Result<Self, ParseLevelError> {
        Self::ALL.into_iter().find(|level| level.name() == s).ok_or(ParseLevelError)
    }
}

/// The word is none of `v1`, `v3`, `v4`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParseLevelError;

impl fmt::Display for ParseLevelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("expected an instruction-set level: v1, v3 or v4")
    }
}

impl core::error::Error for ParseLevelError {}

// The features named here and in `variants!` must be the same: code of a level may use all of them.
fn detect() -> Level {
    #[cfg(target_arch = "x86_64")]
    {
        macro_rules! have {
            ($($feature:tt)*) => { true $(&& std::is_x86_feature_detected!($feature))* };
        }
        let v2 = have!("cmpxchg16b" "popcnt" "sse3" "sse4.1" "sse4.2" "ssse3");
        let v3 = v2 && have!("avx" "avx2" "bmi1" "bmi2" "f16c" "fma" "lzcnt" "movbe");
        let v4 = v3 && have!("avx512f" "avx512bw" "avx512cd" "avx512dq" "avx512vl");
        if v4 {
            return Level::V4;
        }
        if v3 {
            return Level::V3;
        }
    }
    Level::V1
}

mod sealed {
    pub trait Sealed {}
}

/// The instruction set that a generic body is compiled for, known at compile time.
///
/// The types of the levels above [`V1`] need a witness, which takes an `unsafe impl` to make:
/// [`variants!`](crate::variants) alone instantiates bodies with them, in functions that are
/// compiled for them and handed out after a look at the processor. A body that is generic over `I:
/// Isa` may therefore rely on the instructions of `I::LEVEL`.
///
/// ```compile_fail,E0277
/// struct Mine;
/// simd::equal_mask::<simd::__isa::V4<Mine>>(&[0; 256], 256, 0);
/// ```
///
/// ```compile_fail,E0200
/// struct Mine;
/// impl simd::__isa::Witness for Mine {}
/// simd::equal_mask::<simd::__isa::V4<Mine>>(&[0; 256], 256, 0);
/// ```
pub trait Isa: sealed::Sealed + Copy + Default + Send + Sync + 'static {
    /// The level.
    const LEVEL: Level;
}

/// [`Level::V1`]: every processor has it, so any code may instantiate with it.
#[derive(Clone, Copy, Debug, Default)]
pub struct V1;

impl sealed::Sealed for V1 {}
impl Isa for V1 {
    const LEVEL: Level = Level::V1;
}

/// For [`variants!`](crate::variants).
#[doc(hidden)]
pub mod __isa {
    use super::{Isa, Level, sealed::Sealed};
    use core::marker::PhantomData;

    pub use super::V1;

    /// # Safety
    /// Code that is instantiated with the implementing type runs on processors only that have the
    /// level which it is combined with.
    pub unsafe trait Witness: Copy + Default + Send + Sync + 'static {}

    macro_rules! isa {
        ($($name:ident)*) => { $(
            #[derive(Clone, Copy, Debug, Default)]
            pub struct $name<W>(PhantomData<W>);
            impl<W: Witness> Sealed for $name<W> {}
            impl<W: Witness> Isa for $name<W> {
                const LEVEL: Level = Level::$name;
            }
        )* };
    }
    isa! { V3 V4 }
}

/// The instances of one function for all levels; made by [`variants!`](crate::variants), or one for
/// all.
#[derive(Clone, Copy, Debug)]
pub struct Variants<F> {
    by_level: [F; 3],
}

impl<F: Copy> Variants<F> {
    /// # Safety
    /// `by_level[i]` must be sound to call on a processor that has `Level::ALL[i]`.
    #[doc(hidden)]
    pub const unsafe fn new(by_level: [F; 3]) -> Self {
        Self { by_level }
    }

    /// The same function for every level.
    pub const fn one(function: F) -> Self {
        Self { by_level: [function; 3] }
    }

    /// The instance for `level`, or none if this machine can't run it.
    pub fn get(&self, level: Level) -> Option<F> {
        level.is_supported().then(|| self.by_level[level as usize])
    }

    /// The instance for the level that the caller is compiled for, which its processor has; known
    /// at compile time.
    #[inline(always)]
    pub fn of<I: Isa>(&self) -> F {
        self.by_level[I::LEVEL as usize]
    }

    /// The instance for the highest level of this machine.
    pub fn best(&self) -> F {
        self.by_level[Level::detect() as usize]
    }
}

/// Compiles one body for every [`Level`].
///
/// ```text
/// variants! {
///     /// Documentation and other attributes.
///     pub fn NAME<I: Isa, T: Trait, const C: bool, …>(arg: Type, …) -> Ret = BODY;
/// }
/// ```
///
/// makes `pub const fn NAME<T: Trait, const C: bool, …>() -> Variants<fn(Type, …) -> Ret>`. The
/// first parameter is the instruction set; in `BODY`, an expression to call, it stands for a type
/// that implements [`Isa`]. After it come type parameters with one path or no bound, and const
/// parameters. Lifetimes are elided. Everything that `BODY` calls per packet must be
/// `#[inline(always)]`: what isn't inlined is compiled for the baseline. The instances are called
/// `NAME::v1`, `NAME::v3` and `NAME::v4` in a disassembly. With `, without v4` behind the body that
/// of v3 stands in for v4: for builds that have to be made fast.
#[macro_export]
macro_rules! variants {
    // Generic parameters, one at a time: [declarations] [names].
    (@params $head:tt $isa:ident [$($decl:tt)*] [$($name:ident)*] , const $c:ident : $t:ty , $($rest:tt)*) => {
        $crate::variants! { @params $head $isa [$($decl)* const $c: $t,] [$($name)* $c] , $($rest)* }
    };
    (@params $head:tt $isa:ident [$($decl:tt)*] [$($name:ident)*] , const $c:ident : $t:ty > $($rest:tt)*) => {
        $crate::variants! { @params $head $isa [$($decl)* const $c: $t,] [$($name)* $c] > $($rest)* }
    };
    (@params $head:tt $isa:ident [$($decl:tt)*] [$($name:ident)*] , $g:ident : $b:path , $($rest:tt)*) => {
        $crate::variants! { @params $head $isa [$($decl)* $g: $b,] [$($name)* $g] , $($rest)* }
    };
    (@params $head:tt $isa:ident [$($decl:tt)*] [$($name:ident)*] , $g:ident : $b:path > $($rest:tt)*) => {
        $crate::variants! { @params $head $isa [$($decl)* $g: $b,] [$($name)* $g] > $($rest)* }
    };
    (@params $head:tt $isa:ident [$($decl:tt)*] [$($name:ident)*] , $g:ident , $($rest:tt)*) => {
        $crate::variants! { @params $head $isa [$($decl)* $g,] [$($name)* $g] , $($rest)* }
    };
    (@params $head:tt $isa:ident [$($decl:tt)*] [$($name:ident)*] , $g:ident > $($rest:tt)*) => {
        $crate::variants! { @params $head $isa [$($decl)* $g,] [$($name)* $g] > $($rest)* }
    };
    (@params $head:tt $isa:ident $decl:tt $names:tt , > $($rest:tt)*) => {
        $crate::variants! { @params $head $isa $decl $names > $($rest)* }
    };
    // All parameters read.
    (@params { $(#[$meta:meta])* $vis:vis $name:ident } $isa:ident $decl:tt $names:tt
        > ($($arg:ident : $ty:ty),* $(,)?) $(-> $ret:ty)? = $body:expr $(, without $level:ident)?;
    ) => {
        $crate::variants! { @emit [$(#[$meta])*] [$vis] $name $isa $decl $names
            ($($arg: $ty),*) [$(-> $ret)?] [$body] [$($level)?] }
    };
    (@third [] $v3:ident $v4:ident $($g:ident)*) => { $v4::<$($g),*> };
    (@third [v4] $v3:ident $v4:ident $($g:ident)*) => { $v3::<$($g),*> };
    (@emit [$($meta:tt)*] [$vis:vis] $name:ident $isa:ident [$($decl:tt)*] [$($g:ident)*]
        ($($arg:ident : $ty:ty),*) [$($ret:tt)*] [$body:expr] [$($without:ident)?]
    ) => {
        $($meta)*
        $vis const fn $name<$($decl)*>() -> $crate::Variants<fn($($ty),*) $($ret)*> {
            fn v1<$($decl)*>($($arg: $ty),*) $($ret)* {
                type $isa = $crate::__isa::V1;
                ($body)($($arg),*)
            }
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "cmpxchg16b,popcnt,sse3,sse4.1,sse4.2,ssse3")]
            #[target_feature(enable = "avx,avx2,bmi1,bmi2,f16c,fma,lzcnt,movbe")]
            fn v3<$($decl)*>($($arg: $ty),*) $($ret)* {
                #[derive(Clone, Copy, Default)]
                struct Here;
                // SAFETY: no one but this function can name it, and `Variants` hands the function
                // out only on a processor
                // that has the level.
                unsafe impl $crate::__isa::Witness for Here {}
                type $isa = $crate::__isa::V3<Here>;
                ($body)($($arg),*)
            }
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "cmpxchg16b,popcnt,sse3,sse4.1,sse4.2,ssse3")]
            #[target_feature(enable = "avx,avx2,bmi1,bmi2,f16c,fma,lzcnt,movbe")]
            #[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl")]
            #[allow(dead_code, reason = "`without v4`")]
            fn v4<$($decl)*>($($arg: $ty),*) $($ret)* {
                #[derive(Clone, Copy, Default)]
                struct Here;
                // SAFETY: no one but this function can name it, and `Variants` hands the function
                // out only on a processor
                // that has the level.
                unsafe impl $crate::__isa::Witness for Here {}
                type $isa = $crate::__isa::V4<Here>;
                ($body)($($arg),*)
            }
            #[cfg(not(target_arch = "x86_64"))]
            use {v1 as v3, v1 as v4};

            let v4: unsafe fn($($ty),*) $($ret)* =
                $crate::variants!(@third [$($without)?] v3 v4 $($g)*);
            let v3: unsafe fn($($ty),*) $($ret)* = v3::<$($g),*>;
            // SAFETY: a function pointer keeps its layout when it becomes a safe one. `v3` and `v4`
            // need the
            // processor features of their level and nothing else, and `Variants` hands them out
            // only on a
            // processor that has them.
            unsafe {
                $crate::Variants::new([v1::<$($g),*>, ::core::mem::transmute(v3), ::core::mem::transmute(v4)])
            }
        }
    };
    ($(#[$meta:meta])* $vis:vis fn $name:ident <$isa:ident : Isa $($rest:tt)*) => {
        $crate::variants! { @params { $(#[$meta])* $vis $name } $isa [] [] $($rest)* }
    };
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;

    #[suite::test]
    fn names() {
        for level in Level::ALL {
            assert_eq!(level.name().parse(), Ok(level));
        }
        assert_eq!("V4".parse::<Level>(), Err(ParseLevelError));
        assert_eq!(format!("{:>4}", Level::V3), "  v3");
    }

    #[suite::test]
    fn one_function_is_that_of_all_levels() {
        let one = Variants::one(7);
        assert!(one.best() == 7 && one.get(Level::V1) == Some(7) && one.of::<V1>() == 7);
    }

    #[suite::test]
    fn levels_are_nested() {
        let supported = Level::ALL.map(Level::is_supported);
        assert!(supported[0] && supported.is_sorted_by(|low, high| low >= high));
    }
}
