// SPDX-License-Identifier: Apache-2.0
//! Figures as pixels.

use std::sync::Arc;

use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree, fontdb};

use super::Figure;

/// Fonts of the machine, loaded once for all figures.
#[derive(Clone)]
pub struct Fonts(Arc<fontdb::Database>);

impl Fonts {
    /// Loads the fonts of the machine. An error says what to install if there is none.
    pub fn load() -> Result<Fonts, String> {
        let mut fonts = fontdb::Database::new();
        fonts.load_system_fonts();
        let names = ["DejaVu Sans", "Liberation Sans", "Noto Sans", "Arial", "Helvetica"];
        let families: Vec<String> =
            fonts.faces().flat_map(|f| f.families.iter().map(|(name, _)| name.clone())).collect();
        let known = names.into_iter().find(|n| families.iter().any(|f| f == n));
        let family = known.map(str::to_string).or_else(|| families.first().cloned());
        let Some(family) = family else {
            return Err(
                "no font is installed, so texts of a PNG can't be drawn: install one, for \
                        instance the package fonts-dejavu-core, or take the SVG"
                    .into(),
            );
        };
        fonts.set_sans_serif_family(family);
        Ok(Fonts(Arc::new(fonts)))
    }
}

impl Figure {
    /// PNG file of twice the size of the drawing.
    pub fn to_png(&self, fonts: &Fonts) -> Result<Vec<u8>, String> {
        let options = Options { fontdb: fonts.0.clone(), ..Options::default() };
        let tree = Tree::from_str(&self.to_svg(), &options)
            .map_err(|e| format!("figure {}: {e}", self.name))?;
        let size = tree.size().to_int_size();
        let mut pixels = Pixmap::new(size.width() * 2, size.height() * 2)
            .ok_or_else(|| format!("figure {} has no size", self.name))?;
        resvg::render(&tree, Transform::from_scale(2.0, 2.0), &mut pixels.as_mut());
        pixels.encode_png().map_err(|e| format!("figure {}: {e}", self.name))
    }
}
