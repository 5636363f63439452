//! Which values flow into which: a list of pairs grouped by its first member, for analyses along block
//! parameters.

use cranelift_entity::EntityRef;
use mir::ir::{Function, Value};

/// Pairs of values by the first one, in the order in which they were listed.
pub struct Flows {
    /// Where the group of each value starts in `to`; one more at the end. Values from some number on have no
    /// group.
    start: Vec<u32>,
    to: Vec<Value>,
}

impl Flows {
    /// Groups `pairs`. Cost: linear in them and in the highest first member.
    pub fn new(pairs: &[(Value, Value)]) -> Self {
        let keys = pairs.iter().map(|p| p.0.index() + 1).max().unwrap_or(0);
        let mut start = vec![0u32; keys + 1];
        for (key, _) in pairs {
            start[key.index()] += 1;
        }
        let mut sum = 0;
        for slot in &mut start {
            sum += *slot;
            *slot = sum;
        }
        // From the last to the first, so that each group's end moves down to its start.
        let mut to = vec![Value::from_u32(0); pairs.len()];
        for &(key, value) in pairs.iter().rev() {
            let slot = &mut start[key.index()];
            *slot -= 1;
            to[*slot as usize] = value;
        }
        Self { start, to }
    }

    /// The arguments of all branches by the parameter of a block of `func` that they go to, for parameters
    /// that `wanted` names.
    pub fn of_params(func: &Function, wanted: impl Fn(Value) -> bool) -> Self {
        let mut pairs = Vec::new();
        for &block in &func.layout {
            let Some(last) = func.terminator(block) else { continue };
            for target in func.insts[last].kind.targets() {
                let params = func.blocks[target.block].params.iter();
                pairs.extend(params.zip(&target.args).map(|(&p, &a)| (p, a)).filter(|p| wanted(p.0)));
            }
        }
        Self::new(&pairs)
    }

    /// The group of `value`.
    pub fn of(&self, value: Value) -> &[Value] {
        match self.start.get(value.index()..=value.index() + 1) {
            Some(&[start, end]) => &self.to[start as usize..end as usize],
            _ => &[],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_keep_the_order_of_the_list() {
        let v = Value::from_u32;
        let flows = Flows::new(&[(v(3), v(9)), (v(1), v(8)), (v(3), v(7)), (v(3), v(9))]);
        assert_eq!(flows.of(v(3)), [v(9), v(7), v(9)]);
        assert_eq!(flows.of(v(1)), [v(8)]);
        assert_eq!(flows.of(v(0)), []);
        assert_eq!(flows.of(v(4)), []);
        assert_eq!(flows.of(v(100)), []);
        assert_eq!(Flows::new(&[]).of(v(0)), []);
    }
}
