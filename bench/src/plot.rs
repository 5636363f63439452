//! Plots as SVG.

use crate::report::{FIGURES, Report, geometric_mean};
use plotters::prelude::*;
use std::path::{Path, PathBuf};

/// Figures whose ratios are drawn.
const DRAWN: &[&str] = &["bytes", "instructions", "vgprs", "sgprs", "cycles"];
/// Colours that are told apart in print and with most kinds of colour blindness (Okabe and Ito).
const COLOURS: [RGBColor; 5] = [
    RGBColor(0, 114, 178),
    RGBColor(230, 159, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(86, 86, 86),
];
const SIZE: (u32, u32) = (800, 480);

type Drawn = Result<(), Box<dyn std::error::Error>>;

/// Writes all plots of a report into `folder`; their paths.
///
/// # Errors
/// A file cannot be written.
pub fn all(report: &Report, folder: &Path) -> Result<Vec<PathBuf>, String> {
    std::fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut out = Vec::new();
    let mut draw = |name: String, plot: &dyn Fn(&Path) -> Drawn| {
        let path = folder.join(name);
        plot(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        out.push(path);
        Ok::<(), String>(())
    };
    for (corpus, rival) in report.pairings() {
        draw(format!("{corpus}-{rival}.svg"), &|path| ratios(report, &corpus, &rival, path))?;
    }
    if !report.in_process.is_empty() {
        draw("compile-time.svg".to_owned(), &|path| times(report, path))?;
    }
    Ok(out)
}

/// For each figure the ratios of all kernels, sorted: a curve below 1 is where gcnc is better.
fn ratios(report: &Report, corpus: &str, rival: &str, path: &Path) -> Drawn {
    let curves: Vec<(&str, Vec<f64>)> = FIGURES
        .iter()
        .filter(|figure| DRAWN.contains(&figure.name))
        .map(|figure| {
            let ratios = report.ratios(corpus, rival, figure);
            (figure.name, ratios.into_iter().rev().map(|pair| pair.0).collect::<Vec<_>>())
        })
        .filter(|(_, curve)| !curve.is_empty())
        .collect();
    let values = || curves.iter().flat_map(|(_, curve)| curve);
    let (least, most) = values().fold((0.5f64, 2.0f64), |(a, b), &ratio| (a.min(ratio), b.max(ratio)));
    let root = SVGBackend::new(path, SIZE).into_drawing_area();
    root.fill(&WHITE)?;
    let mut chart = ChartBuilder::on(&root)
        .caption(format!("{corpus}: gcnc / {rival}, {}", report.cpu), ("sans-serif", 18))
        .margin(10)
        .x_label_area_size(36)
        .y_label_area_size(52)
        .build_cartesian_2d(0.0..100.0, (least..most).log_scale())?;
    chart
        .configure_mesh()
        .max_light_lines(2)
        .x_desc("kernels, in percent, sorted by ratio")
        .y_desc("ratio, less is better")
        .y_label_formatter(&|ratio| format!("{ratio:.2}"))
        .draw()?;
    chart.draw_series(LineSeries::new([(0.0, 1.0), (100.0, 1.0)], &BLACK))?;
    for ((name, curve), colour) in curves.iter().zip(COLOURS) {
        let step = 100.0 / (curve.len().max(2) - 1) as f64;
        let points = curve.iter().enumerate().map(|(i, &ratio)| (step * i as f64, ratio));
        let mean = geometric_mean(curve.iter().copied()).unwrap_or(1.0);
        chart
            .draw_series(LineSeries::new(points, colour.stroke_width(2)))?
            .label(format!("{name}: {mean:.3}"))
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], colour.stroke_width(2)));
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperLeft)
        .background_style(WHITE.mix(0.8))
        .border_style(BLACK)
        .draw()?;
    root.present()?;
    Ok(())
}

/// How many times longer LLVM takes, a point a module, by its size and level.
fn times(report: &Report, path: &Path) -> Drawn {
    let point = |row: &crate::report::TimeRow| {
        (row.ir_instructions.max(1) as f64, row.llvm.least_us / row.gcnc.least_us)
    };
    let most =
        report.in_process.iter().map(point).fold((10.0f64, 2.0f64), |m, p| (m.0.max(p.0), m.1.max(p.1)));
    let root = SVGBackend::new(path, SIZE).into_drawing_area();
    root.fill(&WHITE)?;
    let mut chart = ChartBuilder::on(&root)
        .caption(format!("compile time, LLVM / gcnc, {}", report.cpu), ("sans-serif", 18))
        .margin(10)
        .x_label_area_size(36)
        .y_label_area_size(52)
        .build_cartesian_2d((10.0..most.0 * 1.2).log_scale(), 0.0..most.1 * 1.1)?;
    chart
        .configure_mesh()
        .max_light_lines(2)
        .x_desc("instructions of LLVM IR")
        .y_desc("ratio, more is better")
        .x_label_formatter(&|count| format!("{count:.0}"))
        .draw()?;
    for (level, colour) in (0u8..=3).zip(COLOURS) {
        let points: Vec<(f64, f64)> =
            report.in_process.iter().filter(|row| row.level == level).map(point).collect();
        let Some(mean) = geometric_mean(points.iter().map(|point| point.1)) else { continue };
        chart
            .draw_series(points.into_iter().map(|point| Circle::new(point, 4, colour.filled())))?
            .label(format!("-O{level}: {mean:.1}"))
            .legend(move |(x, y)| Circle::new((x + 9, y), 4, colour.filled()));
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperRight)
        .background_style(WHITE.mix(0.8))
        .border_style(BLACK)
        .draw()?;
    root.present()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{CodeRow, Facts, Sample, TimeRow};

    #[test]
    fn every_pairing_has_a_plot() {
        let facts = Facts { bytes: 8, ..Facts::default() };
        let row = CodeRow {
            corpus: "c".into(),
            kernel: "k".into(),
            gcnc: facts.clone(),
            rivals: [("llc".to_owned(), facts)].into(),
        };
        let sample = Sample { least_us: 1.0, spread_percent: 0.0 };
        let time = TimeRow {
            module: "m".into(),
            ir_instructions: 5,
            level: 2,
            gcnc: sample,
            llvm: sample,
            gcnc_peak_kib: 0,
            llvm_peak_kib: 0,
        };
        let report = Report { code: vec![row], in_process: vec![time], ..Report::default() };
        let folder = tempfile::tempdir().expect("a temporary folder");
        let paths = all(&report, folder.path()).expect("both are drawn");
        assert_eq!(paths.len(), 2);
        for path in paths {
            let text = std::fs::read_to_string(&path).expect("it was written");
            assert!(text.starts_with("<svg") && text.trim_end().ends_with("</svg>"), "{}", path.display());
        }
    }
}
