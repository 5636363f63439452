//! Numbers in classes that are joined two at a time (disjoint sets).
//!
//! The least number of a class leads it, so that what is found does not depend on the order in which classes were joined. Cost: a logarithm of the
//! numbers for each call, spread over all of them (paths are halved on the way; Tarjan, van Leeuwen: "Worst-case analysis of set union algorithms").

/// Classes of the numbers from 0 on.
#[derive(Clone, Debug, Default)]
pub struct Classes {
    /// A smaller number of the same class; the leader's is its own.
    leaders: Vec<u32>,
}

impl Classes {
    /// The numbers below `count`, each in a class of its own.
    pub fn new(count: usize) -> Self {
        Self { leaders: (0..count as u32).collect() }
    }

    /// The next number, in a class of its own.
    pub fn add(&mut self) -> u32 {
        let number = self.leaders.len() as u32;
        self.leaders.push(number);
        number
    }

    /// The number that stands for the class of `number`, one of those that there are.
    pub fn leader(&mut self, number: u32) -> u32 {
        let mut at = number;
        while self.leaders[at as usize] != at {
            self.leaders[at as usize] = self.leaders[self.leaders[at as usize] as usize];
            at = self.leaders[at as usize];
        }
        at
    }

    /// Makes one class of those of `a` and `b`.
    pub fn join(&mut self, a: u32, b: u32) {
        let (a, b) = (self.leader(a), self.leader(b));
        self.leaders[a.max(b) as usize] = a.min(b);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_number_leads() {
        let mut classes = Classes::new(5);
        classes.join(4, 3);
        classes.join(1, 4);
        let more = classes.add();
        classes.join(more, 2);
        let leaders: Vec<u32> = (0..6).map(|number| classes.leader(number)).collect();
        assert_eq!(leaders, [0, 1, 2, 1, 1, 2]);
    }
}
