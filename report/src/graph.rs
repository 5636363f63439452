//! Places of blocks in a picture of control flow: layers from top to bottom.
//!
//! Blocks stand in the order of their addresses, in which all edges but those of loops point forward. A block's layer is one below the lowest of those
//! that come before it; inside of a layer blocks are ordered by the mean place of these, so that edges cross seldom. Edges back to a loop's start go
//! around on the right, those that pass over layers on the left, between the layers everywhere else.

use crate::data::Block;

/// Size of a block, and the space around it.
pub const BOX: (i32, i32) = (132, 40);
const SPACE: (i32, i32) = (20, 34);
/// Room on the right for an edge back.
const LANE: i32 = 10;
/// Edges back that have a lane of their own.
const MOST_LANES: i32 = 12;

/// A picture, in pixels.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    /// How far edges go to the left of 0.
    pub left: i32,
    /// Width.
    pub width: i32,
    /// Height.
    pub height: i32,
    /// Upper left corner of each block.
    pub boxes: Vec<(i32, i32)>,
    /// Edges.
    pub edges: Vec<Edge>,
}

/// An edge: a path of SVG.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edge {
    /// Between these blocks.
    pub from: usize,
    /// See [`Self::from`].
    pub to: usize,
    /// To a block that stands at or before its own.
    pub back: bool,
    /// The path.
    pub path: String,
}

/// Places the blocks of a function.
pub fn layout(blocks: &[Block]) -> Layout {
    let count = blocks.len();
    let mut layer = vec![0usize; count];
    let mut preds: Vec<Vec<usize>> = vec![Vec::new(); count];
    for (from, block) in blocks.iter().enumerate() {
        for &to in block.succs.iter().filter(|&&to| to > from) {
            layer[to] = layer[to].max(layer[from] + 1);
            preds[to].push(from);
        }
    }
    let layers = layer.iter().max().map_or(0, |last| last + 1);
    let mut members: Vec<Vec<usize>> = vec![Vec::new(); layers];
    (0..count).for_each(|block| members[layer[block]].push(block));
    let mut centre = vec![0i64; count];
    let pitch = i64::from(BOX.0 + SPACE.0);
    let widest = members.iter().map(Vec::len).max().unwrap_or(0) as i64 * pitch;
    for members in &mut members {
        let mean = |block: &usize| {
            let preds = &preds[*block];
            match preds.len() as i64 {
                0 => widest / 2,
                n => preds.iter().map(|pred| centre[*pred]).sum::<i64>() / n,
            }
        };
        let mut ordered: Vec<(i64, usize)> = members.iter().map(|block| (mean(block), *block)).collect();
        ordered.sort_unstable();
        let start = (widest - ordered.len() as i64 * pitch) / 2 + pitch / 2;
        for (place, (_, block)) in ordered.iter().enumerate() {
            centre[*block] = start + place as i64 * pitch;
        }
        *members = ordered.into_iter().map(|(_, block)| block).collect();
    }
    let corner = |block: usize| {
        let x = centre[block] as i32 - BOX.0 / 2;
        (x, SPACE.1 / 2 + layer[block] as i32 * (BOX.1 + SPACE.1))
    };
    let boxes: Vec<(i32, i32)> = (0..count).map(corner).collect();
    let right = widest as i32;
    // On the left edges that pass over layers, on the right those that go back, each in a lane.
    let mut left = 0;
    let mut edges = Vec::new();
    let mut lanes = 0;
    for (from, block) in blocks.iter().enumerate() {
        for &to in &block.succs {
            let (start, end) = (boxes[from], boxes[to]);
            let back = to <= from;
            let (x1, y1) = (start.0 + BOX.0 / 2, start.1 + BOX.1);
            let (x2, y2) = (end.0 + BOX.0 / 2, end.1);
            let gap = SPACE.1 / 4;
            let path = if back {
                let lane = right + LANE * (1 + lanes % MOST_LANES);
                lanes += 1;
                let (x1, x2) = (x1 + BOX.0 / 4, x2 + BOX.0 / 4);
                format!("M{x1} {y1}v{gap}H{lane}V{}H{x2}v{gap}", y2 - gap)
            } else if layer[to] > layer[from] + 1 {
                let lane = -LANE * (1 + left % MOST_LANES);
                left += 1;
                let (x1, x2) = (x1 - BOX.0 / 4, x2 - BOX.0 / 4);
                format!("M{x1} {y1}v{gap}H{lane}V{}H{x2}v{gap}", y2 - gap)
            } else {
                let bend = SPACE.1 / 2;
                format!("M{x1} {y1}C{x1} {} {x2} {} {x2} {y2}", y1 + bend, y2 - bend)
            };
            edges.push(Edge { from, to, back, path });
        }
    }
    let left = LANE * (1 + left.min(MOST_LANES));
    Layout {
        left,
        width: left + right + LANE * (2 + lanes.min(MOST_LANES)),
        height: layers as i32 * (BOX.1 + SPACE.1) + SPACE.1 / 2,
        boxes,
        edges,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(succs: &[usize]) -> Block {
        Block { succs: succs.to_vec(), ..Block::default() }
    }

    /// A diamond in a loop: arms beside each other, the join below them, one edge back.
    #[test]
    fn a_diamond_and_a_loop() {
        let picture = layout(&[block(&[1, 2]), block(&[3]), block(&[3]), block(&[0, 4]), block(&[])]);
        let y: Vec<i32> = picture.boxes.iter().map(|(_, y)| *y).collect();
        assert!(y[0] < y[1] && y[1] == y[2] && y[2] < y[3] && y[3] < y[4]);
        assert!((picture.boxes[1].0 - picture.boxes[2].0).abs() >= BOX.0, "boxes overlap");
        assert_eq!(picture.edges.iter().filter(|edge| edge.back).count(), 1);
        assert_eq!(picture.edges.len(), 6);
        assert!(
            picture
                .boxes
                .iter()
                .all(|(x, y)| *x >= 0 && x + BOX.0 <= picture.width && y + BOX.1 <= picture.height)
        );
        assert_eq!(layout(&[]).boxes, []);
    }
}
