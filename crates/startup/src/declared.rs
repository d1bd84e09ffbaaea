// SPDX-License-Identifier: Apache-2.0
//! Sections that plugins declare, and the values that they get.

use std::any::Any;
use std::fmt::Debug;

use crate::cursor::Cursor;
use crate::error::Error;
use crate::section::{Section, View};

/// A plugin's settings in startup.conf. A field is `None` (or empty, or false) when the text didn't
/// give it.
pub trait Startup: Any + Clone + Debug + Default + PartialEq + Send + Sync {
    /// The sections that fill it.
    const SECTIONS: &'static [Section<Self>];
}

/// A plugin's declaration of its sections.
#[derive(Clone, Copy)]
pub struct StartupDef {
    make: fn() -> Box<dyn AnyStartup>,
}

impl StartupDef {
    /// The sections of this type.
    pub const fn of<T: Startup>() -> Self {
        Self { make: || Box::new(T::default()) }
    }
}

/// The part of [`Startup`] that doesn't depend on its type.
trait AnyStartup: Any + Debug + Send + Sync {
    fn read(&mut self, section: &str, cursor: &mut Cursor) -> Option<Result<(), Error>>;
    fn views(&self) -> Vec<View>;
    fn boxed(&self) -> Box<dyn AnyStartup>;
    fn equals(&self, other: &dyn AnyStartup) -> bool;
}

impl<T: Startup> AnyStartup for T {
    fn read(&mut self, section: &str, cursor: &mut Cursor) -> Option<Result<(), Error>> {
        let section = T::SECTIONS.iter().find(|s| s.name() == section)?;
        Some(section.read(self, cursor))
    }

    fn views(&self) -> Vec<View> {
        T::SECTIONS.iter().map(|section| section.view(self)).collect()
    }

    fn boxed(&self) -> Box<dyn AnyStartup> {
        Box::new(self.clone())
    }

    fn equals(&self, other: &dyn AnyStartup) -> bool {
        (other as &dyn Any).downcast_ref() == Some(self)
    }
}

/// The values of the sections that plugins declare.
#[derive(Debug, Default)]
pub struct Values(Vec<Box<dyn AnyStartup>>);

impl Values {
    /// The values of these sections, with nothing given yet.
    pub fn new<'a>(defs: impl IntoIterator<Item = &'a StartupDef>) -> Self {
        Self(defs.into_iter().map(|def| (def.make)()).collect())
    }

    /// Reads the tokens behind the name of a section; `None` if no plugin declares it.
    pub fn read(&mut self, section: &str, cursor: &mut Cursor) -> Option<Result<(), Error>> {
        self.0.iter_mut().find_map(|values| values.read(section, cursor))
    }

    /// All sections with their values.
    pub fn views(&self) -> Vec<View> {
        self.0.iter().flat_map(|values| values.views()).collect()
    }

    /// The values of this type: nothing is given where no plugin declares it.
    pub fn get<T: Startup>(&self) -> T {
        let found = self.0.iter().find_map(|values| (&**values as &dyn Any).downcast_ref::<T>());
        found.cloned().unwrap_or_default()
    }
}

impl Clone for Values {
    fn clone(&self) -> Self {
        Self(self.0.iter().map(|values| values.boxed()).collect())
    }
}

impl PartialEq for Values {
    fn eq(&self, other: &Self) -> bool {
        self.0.len() == other.0.len() && self.0.iter().zip(&other.0).all(|(a, b)| a.equals(&**b))
    }
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;
    use crate::Source;
    use crate::section::{GROWS, SIZE, Word};
    use crate::text::tokens;

    #[derive(Clone, Debug, Default, PartialEq)]
    struct Lamp {
        watts: Option<u32>,
        on: bool,
    }

    impl Startup for Lamp {
        const SECTIONS: &'static [Section<Self>] = &[
            Section::new(
                "lamp",
                "light",
                &[
                    Word::new("watts", |c| &mut c.watts, "how bright"),
                    Word::new("on", |c| &mut c.on, "from the start"),
                ],
            ),
            Section::new("lamps", "storage", &[Word::unused("shelf-size", SIZE, GROWS)]),
        ];
    }

    #[derive(Clone, Debug, Default, PartialEq)]
    struct Door {
        width: Option<u32>,
        is_there: bool,
    }

    impl Startup for Door {
        const SECTIONS: &'static [Section<Self>] = &[Section::<Self>::new(
            "door",
            "entrance",
            &[Word::new("width", |c| &mut c.width, "in feet")],
        )
        .present(|c| &mut c.is_there)];
    }

    fn read(values: &mut Values, text: &str) -> Option<Result<Vec<String>, Error>> {
        let source = Source::arguments(1, &[text]);
        let tokens = tokens(&source).expect("braces in pairs");
        let mut cursor = Cursor::new(&source, &tokens);
        let name = cursor.word("a section").expect("a word");
        let result = values.read(name, &mut cursor)?;
        Some(result.map(|()| cursor.notes))
    }

    #[suite::test]
    fn each_plugin_gets_what_its_sections_say() {
        let mut values = Values::new(&[StartupDef::of::<Lamp>(), StartupDef::of::<Door>()]);
        let empty = values.clone();
        assert_eq!(values.get::<Lamp>(), Lamp::default());
        assert_eq!(read(&mut values, "door { width 3 }"), Some(Ok(Vec::new())));
        assert_eq!(read(&mut values, "lamp { watts 40 on }"), Some(Ok(Vec::new())));
        let note = "lamps shelf-size 1M: not needed: memory grows as it is used".to_string();
        assert_eq!(read(&mut values, "lamps { shelf-size 1M }"), Some(Ok(vec![note])));
        assert_eq!(read(&mut values, "window { }"), None);
        let error =
            read(&mut values, "lamp { wats 1 }").expect("a section").expect_err("a wrong word");
        assert!(error.to_string().ends_with("did you mean `watts`?"), "{error}");
        assert_eq!(values.get::<Lamp>(), Lamp { watts: Some(40), on: true });
        assert_eq!(values.get::<Door>(), Door { width: Some(3), is_there: true });
        assert!(values != empty && values == values.clone());
        let names: Vec<_> = values.views().iter().map(|view| view.name).collect();
        assert_eq!(names, ["lamp", "lamps", "door"]);
        assert_eq!(values.views()[0].words[0].values, ["40"]);
    }

    #[suite::test]
    fn a_section_may_be_there_and_empty() {
        let mut values = Values::new(&[StartupDef::of::<Door>()]);
        assert!(!values.get::<Door>().is_there);
        assert_eq!(read(&mut values, "door { }"), Some(Ok(Vec::new())));
        assert!(values.get::<Door>().is_there);
    }

    #[suite::test]
    fn what_nobody_declares_is_as_if_nothing_were_given() {
        assert_eq!(Values::new(&[StartupDef::of::<Lamp>()]).get::<Door>(), Door::default());
    }
}
