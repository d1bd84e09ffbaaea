// SPDX-License-Identifier: Apache-2.0
//! A multibit trie of 16, 8 and 8 bits with prefixes expanded to cells (Srinivasan and Varghese
//! 1999).

/// In a cell: the number of the table to go on in.
const DOWN: u32 = 1 << 31;

pub struct Mtrie {
    /// 2^16 cells, then tables of 256.
    cells: Vec<u32>,
}

impl Mtrie {
    /// Routes are network, length and hop; nothing can be removed.
    pub fn new(routes: &[(u32, u8, u32)]) -> Self {
        let mut this = Self { cells: vec![0; 1 << 16] };
        let mut routes = routes.to_vec();
        routes.sort_by_key(|(_, len, _)| *len);
        for (network, len, hop) in routes {
            let (mut first, mut end) = (0, 16);
            let mut cell = (network >> 16) as usize;
            while len > end {
                first = this.below(first + cell);
                end += 8;
                cell = (network >> (32 - end)) as usize & 255;
            }
            let at = first + cell;
            this.cells[at..at + (1 << (end - len))].fill(hop);
        }
        this
    }

    /// Where the table behind a cell begins.
    fn below(&mut self, cell: usize) -> usize {
        let content = self.cells[cell];
        if content & DOWN != 0 {
            return ((content & !DOWN) as usize) << 8;
        }
        let first = self.cells.len();
        self.cells.resize(first + 256, content);
        self.cells[cell] = DOWN | (first >> 8) as u32;
        first
    }

    pub fn memory(&self) -> usize {
        self.cells.len() * size_of::<u32>()
    }

    #[inline(always)]
    pub fn hops(&self, keys: &[u32], hops: &mut [u32]) {
        for (hop, key) in hops.iter_mut().zip(keys) {
            let mut content = self.cells[(key >> 16) as usize];
            if content & DOWN != 0 {
                content = self.cells[((content & !DOWN) as usize) << 8 | (key >> 8 & 255) as usize];
                if content & DOWN != 0 {
                    content = self.cells[((content & !DOWN) as usize) << 8 | (key & 255) as usize];
                }
            }
            *hop = content;
        }
    }
}
