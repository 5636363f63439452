//! How far a run is, in a line on terminals.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use sim::Watch;
use std::io::IsTerminal as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Time between two looks.
const INTERVAL: Duration = Duration::from_millis(100);

/// Runs `body`, and shows what `watch` counts where standard error is a terminal that nothing else (`busy`) writes to.
pub fn shown<T>(watch: &Watch, busy: bool, body: impl FnOnce() -> T) -> T {
    if busy || !std::io::stderr().is_terminal() {
        return body();
    }
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let shower = scope.spawn(|| show(watch, &done));
        let result = body();
        done.store(true, Ordering::Release);
        shower.thread().unpark();
        result
    })
}

fn show(watch: &Watch, done: &AtomicBool) {
    let bar = ProgressBar::with_draw_target(Some(1), ProgressDrawTarget::stderr());
    if let Ok(style) = ProgressStyle::with_template("{bar:30} {pos}/{len} work-groups, {msg} ({elapsed})") {
        bar.set_style(style);
    }
    loop {
        std::thread::park_timeout(INTERVAL);
        if done.load(Ordering::Acquire) {
            break;
        }
        let now = watch.progress();
        if now.total > 0 {
            bar.set_length(now.total);
            bar.set_position(now.groups);
            bar.set_message(format!("{:.1} M instructions", now.instructions as f64 / 1e6));
        }
    }
    bar.finish_and_clear();
}
