//! What all pictures can do.

use std::io::Write;
use std::path::Path;

use tove_tensor::io::{WriteOptions, atomic};

use crate::draw::scene::Scene;
use crate::error::Result;

/// A picture: anything that can be drawn as SVG.
///
/// ```
/// use tove_plot::{LineChart, Picture};
/// let svg = LineChart::new().series("loss", &[1.0, 2.0, 3.0], &[0.9, 0.5, 0.4]).to_svg()?;
/// assert!(svg.starts_with("<svg"));
/// # Ok::<(), tove_plot::PlotError>(())
/// ```
pub trait Picture {
    /// The picture's elements.
    ///
    /// # Errors
    /// If there is nothing to draw, lists do not belong together, or a setting is out of range.
    fn scene(&self) -> Result<Scene>;

    /// The picture as one SVG document with its style, also fit to be put inside a page.
    ///
    /// # Errors
    /// As [`Picture::scene`].
    fn to_svg(&self) -> Result<String> {
        Ok(self.scene()?.svg(true))
    }

    /// Writes the SVG document, whole or not at all. An existing file is replaced only with
    /// [`WriteOptions::overwriting`].
    ///
    /// # Errors
    /// As [`Picture::scene`], or if the file exists or cannot be written.
    fn save(&self, path: impl AsRef<Path>, options: WriteOptions) -> Result<()>
    where
        Self: Sized,
    {
        write_text(path.as_ref(), options, &self.to_svg()?)
    }
}

/// Writes a text file, whole or not at all.
pub(crate) fn write_text(path: &Path, options: WriteOptions, text: &str) -> Result<()> {
    Ok(atomic::write_file(path, options, |out| out.write_all(text.as_bytes()))?)
}
