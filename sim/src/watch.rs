//! A limit of time on a run, and how far the run has come.
//!
//! A dispatch that cannot end within its limit is refused as soon as that can be told: behind the first work-group where even a fast
//! machine could not do it, later by the pace so far. Results do not depend on it otherwise.

use crate::report::{Kind, Report, Result, Stats};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Instructions a second and thread that no machine reaches: an estimate by it is a lower bound.
const FASTEST: f64 = 50e6;
/// Times the limit that a pace must promise for a run to be given up early. Work-groups differ.
const CLEARLY: f64 = 3.0;
/// The pace is not judged before this.
const PACE_AFTER: Duration = Duration::from_secs(2);

/// Watches one run; shared with whoever shows how far it is.
#[derive(Debug)]
pub struct Watch {
    limit: Option<Duration>,
    /// When the first work-group started: what comes before, such as filling memory, says nothing of the pace.
    started: OnceLock<Instant>,
    total: AtomicU64,
    groups: AtomicU64,
    instructions: AtomicU64,
}

/// How far a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Work-groups that have ended.
    pub groups: u64,
    /// Work-groups of the dispatch; 0 before it starts.
    pub total: u64,
    /// Instructions that their waves executed.
    pub instructions: u64,
}

impl Watch {
    /// A watch that starts with the dispatch. Without a limit it only counts.
    pub fn new(limit: Option<Duration>) -> Self {
        let zero = || AtomicU64::new(0);
        Self { limit, started: OnceLock::new(), total: zero(), groups: zero(), instructions: zero() }
    }

    /// The limit.
    pub fn limit(&self) -> Option<Duration> {
        self.limit
    }

    /// How far the run is.
    pub fn progress(&self) -> Progress {
        Progress {
            groups: self.groups.load(Relaxed),
            total: self.total.load(Relaxed),
            instructions: self.instructions.load(Relaxed),
        }
    }

    fn elapsed(&self) -> Duration {
        self.started.get().map_or(Duration::ZERO, Instant::elapsed)
    }

    pub(crate) fn begin(&self, total: u64) {
        self.started.get_or_init(Instant::now);
        self.total.store(total, Relaxed);
    }

    /// The report of a run whose time is over.
    pub(crate) fn check_time(&self) -> Result<()> {
        match self.limit {
            Some(limit) if self.elapsed() >= limit => {
                let Progress { groups, total, .. } = self.progress();
                Err(Report::new(
                    Kind::Budget,
                    format!(
                        "the time limit of {} is used up; {groups} of {total} work-groups have ended",
                        seconds(limit.as_secs_f64())
                    ),
                ))
            }
            _ => Ok(()),
        }
    }

    /// Counts work-groups that have ended, and refuses a run that cannot end within its limit. `stats` are those of all of them.
    pub(crate) fn ended(&self, groups: u64, stats: &Stats, threads: usize) -> Result<()> {
        self.groups.store(groups, Relaxed);
        self.instructions.store(stats.instructions, Relaxed);
        let (Some(limit), total) = (self.limit, self.total.load(Relaxed)) else { return Ok(()) };
        if groups == 0 || groups >= total {
            return Ok(());
        }
        let all = stats.instructions as f64 / groups as f64 * total as f64;
        let bound = all / (FASTEST * threads.max(1) as f64);
        let elapsed = self.elapsed();
        let pace = elapsed.as_secs_f64() / groups as f64 * total as f64;
        let limit_seconds = limit.as_secs_f64();
        let slow = elapsed >= PACE_AFTER && pace > CLEARLY * limit_seconds;
        if bound <= limit_seconds && !slow {
            return Ok(());
        }
        Err(Report::new(
            Kind::Budget,
            format!(
                "the grid is too large to run here: {total} work-groups of some {} instructions take about {}, and the limit is {}",
                stats.instructions / groups,
                seconds(pace.max(bound)),
                seconds(limit_seconds)
            ),
        ))
    }
}

/// A time in words.
fn seconds(seconds: f64) -> String {
    match seconds {
        s if s < 120.0 => format!("{s:.0} s"),
        s if s < 7200.0 => format!("{:.0} minutes", s / 60.0),
        s if s < 172_800.0 => format!("{:.0} hours", s / 3600.0),
        s => format!("{:.0} days", s / 86_400.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stats(instructions: u64) -> Stats {
        Stats { instructions, ..Stats::default() }
    }

    #[test]
    fn what_cannot_end_is_refused_behind_the_first_work_group() {
        let watch = Watch::new(Some(Duration::from_secs(60)));
        watch.begin(1 << 40);
        let report = watch.ended(1, &stats(1000), 2).unwrap_err();
        assert_eq!(report.kind, Kind::Budget);
        assert!(
            report.message.contains("1099511627776 work-groups of some 1000 instructions"),
            "{}",
            report.message
        );
        watch.begin(100);
        assert!(watch.ended(1, &stats(1000), 2).is_ok());
        assert_eq!(watch.progress(), Progress { groups: 1, total: 100, instructions: 1000 });
    }

    #[test]
    fn time_ends() {
        assert!(Watch::new(None).check_time().is_ok());
        let report = Watch::new(Some(Duration::ZERO)).check_time().unwrap_err();
        assert!(report.message.contains("time limit of 0 s"), "{}", report.message);
        assert_eq!([seconds(3.2), seconds(600.0), seconds(1e6)], ["3 s", "10 minutes", "12 days"]);
    }
}
