//! How images are cut into tiles, strips and groups: by their sizes alone.

use super::SIDE;

/// Tiles of a set of images. A *strip* is a run of tile rows of one image (all of them if they are few), a *group* a run
/// of strips that is worked on together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Grid {
    /// Tile rows and columns of an image.
    pub rows: usize,
    pub columns: usize,
    /// Tile rows of a strip, strips of an image, of a group, and of all images.
    pub strip: usize,
    pub strips: usize,
    pub group: usize,
    pub units: usize,
}

/// One strip.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Unit {
    pub image: usize,
    /// First tile row, and how many.
    pub first: usize,
    pub rows: usize,
}

impl Grid {
    /// Groups of about `wanted` tiles.
    pub fn new(images: usize, result: [usize; 2], wanted: usize) -> Grid {
        let (rows, columns) = (result[0].div_ceil(SIDE), result[1].div_ceil(SIDE));
        let per_image = (rows * columns).max(1);
        let whole = per_image <= wanted;
        let strips = if whole { 1 } else { rows.div_ceil((wanted / columns).max(1)) };
        let group = if whole { (wanted / per_image).clamp(1, images.max(1)) } else { 1 };
        Grid { rows, columns, strip: rows.div_ceil(strips), strips, group, units: images * strips }
    }

    /// Most tiles of a group.
    pub fn tiles(&self) -> usize {
        self.group * self.strip * self.columns
    }

    pub fn groups(&self) -> usize {
        self.units.div_ceil(self.group)
    }

    pub fn unit(&self, index: usize) -> Unit {
        let first = (index % self.strips * self.strip).min(self.rows);
        Unit { image: index / self.strips, first, rows: self.strip.min(self.rows - first) }
    }

    /// The strips of a group.
    pub fn units_of(&self, group: usize) -> std::ops::Range<usize> {
        group * self.group..((group + 1) * self.group).min(self.units)
    }
}

/// How many tiles a group should have so that their transforms stay in the second-level cache.
pub(super) fn wanted_tiles(inputs: usize, outputs: usize) -> usize {
    (3200 / (inputs + outputs).max(1)).clamp(32, 96)
}
