//! Panels with axes, lines or bars, and a legend, as SVG that is readable on light and on dark pages.

use std::fmt::Write;

/// Panels one below the other.
pub(super) struct Figure {
    pub(super) title: String,
    pub(super) subtitle: String,
    pub(super) panels: Vec<Panel>,
}

/// One pair of axes; the vertical one begins at zero.
pub(super) struct Panel {
    pub(super) title: String,
    pub(super) x_label: String,
    pub(super) y_label: String,
    pub(super) marks: Marks,
    /// A level to look up to.
    pub(super) reference: Option<Reference>,
}

/// What is drawn.
pub(super) enum Marks {
    /// Over a logarithmic axis.
    Lines(Vec<Series>),
    /// Side by side in groups; a point's first number is its group's.
    Bars { groups: Vec<String>, series: Vec<Series> },
}

/// What has one colour.
pub(super) struct Series {
    pub(super) label: String,
    pub(super) points: Vec<(f64, f64)>,
    /// Whether it is there for comparison: grey and dashed.
    pub(super) is_reference: bool,
}

/// A horizontal line.
pub(super) struct Reference {
    pub(super) label: String,
    pub(super) at: f64,
}

const WIDTH: f64 = 820.0;
/// Of a panel, its legend and labels included.
const HEIGHT: f64 = 360.0;
/// Of the title.
const HEAD: f64 = 64.0;
const LEFT: f64 = 72.0;
const RIGHT: f64 = 24.0;
const TOP: f64 = 56.0;
const BOTTOM: f64 = 56.0;
/// Of a letter, about, for the places of legends.
const LETTER: f64 = 6.6;
const COLOURS: usize = 6;

const STYLE: &str = "\
.page{fill:#ffffff}.ink{fill:#1f2328}.soft{fill:#59636e}.grid{stroke:#d1d9e0;stroke-width:1}\
.axis{stroke:#59636e;stroke-width:1}.level{stroke:#59636e;stroke-width:1.25;stroke-dasharray:2 4}\
.line{fill:none;stroke-width:2.25;stroke-linejoin:round;stroke-linecap:round}.other{stroke-dasharray:7 5;stroke-width:1.75}\
.c0{stroke:#2563eb;fill:#2563eb}.c1{stroke:#d9480f;fill:#d9480f}.c2{stroke:#0f766e;fill:#0f766e}\
.c3{stroke:#9333ea;fill:#9333ea}.c4{stroke:#be185d;fill:#be185d}.c5{stroke:#4d7c0f;fill:#4d7c0f}\
.cx{stroke:#818b98;fill:#818b98}.line{fill:none}.bar{stroke:none}.within{fill:#ffffff}\
.halo{stroke:#ffffff;stroke-width:3;paint-order:stroke}\
@media (prefers-color-scheme:dark){.page{fill:#0d1117}.ink{fill:#f0f6fc}.soft{fill:#9198a1}.grid{stroke:#2a313c}\
.axis{stroke:#9198a1}.level{stroke:#9198a1}.c0{stroke:#60a5fa;fill:#60a5fa}.c1{stroke:#fb923c;fill:#fb923c}\
.c2{stroke:#2dd4bf;fill:#2dd4bf}.c3{stroke:#c084fc;fill:#c084fc}.c4{stroke:#f472b6;fill:#f472b6}\
.c5{stroke:#a3e635;fill:#a3e635}.cx{stroke:#9198a1;fill:#9198a1}.line{fill:none}.bar{stroke:none}\
.within{fill:#0d1117}.halo{stroke:#0d1117}}";

/// Text of an SVG file.
struct Svg(String);

impl Svg {
    fn push(&mut self, line: std::fmt::Arguments<'_>) {
        // Writing to a string can not fail.
        let _ = self.0.write_fmt(line);
        self.0.push('\n');
    }

    fn text(&mut self, (x, y): (f64, f64), class: &str, size: u32, anchor: &str, text: &str) {
        let text = escaped(text);
        self.push(format_args!(
            "<text x=\"{x:.1}\" y=\"{y:.1}\" class=\"{class}\" font-size=\"{size}\" text-anchor=\"{anchor}\">{text}</text>"
        ));
    }

    fn line(&mut self, class: &str, (x1, y1): (f64, f64), (x2, y2): (f64, f64)) {
        self.push(format_args!(
            "<line class=\"{class}\" x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\"/>"
        ));
    }
}

impl Figure {
    /// As a file of its own.
    pub(super) fn to_svg(&self) -> String {
        let height = HEAD + HEIGHT * self.panels.len() as f64;
        let mut svg = Svg(String::new());
        svg.push(format_args!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" height=\"{height}\" \
             role=\"img\" font-family=\"ui-sans-serif,system-ui,-apple-system,'Segoe UI',Helvetica,Arial,sans-serif\">"
        ));
        svg.push(format_args!("<title>{}</title>\n<style>{STYLE}</style>", escaped(&self.title)));
        svg.push(format_args!("<rect class=\"page\" width=\"{WIDTH}\" height=\"{height}\" rx=\"6\"/>"));
        svg.text((24.0, 32.0), "ink", 18, "start", &self.title);
        svg.text((24.0, 52.0), "soft", 12, "start", &self.subtitle);
        for (i, panel) in self.panels.iter().enumerate() {
            panel.draw(&mut svg, HEAD + HEIGHT * i as f64);
        }
        svg.push(format_args!("</svg>"));
        svg.0
    }
}

/// Where a panel's numbers are on the page.
struct Scale {
    top: f64,
    bottom: f64,
    highest: f64,
}

impl Scale {
    fn y(&self, value: f64) -> f64 {
        self.bottom - (self.bottom - self.top) * value / self.highest
    }
}

impl Panel {
    fn series(&self) -> &[Series] {
        match &self.marks {
            Marks::Lines(series) | Marks::Bars { series, .. } => series,
        }
    }

    fn draw(&self, svg: &mut Svg, offset: f64) {
        let values = self.series().iter().flat_map(|s| &s.points).map(|(_, y)| *y);
        let most = values.chain(self.reference.iter().map(|r| r.at)).fold(0.0, f64::max);
        let step = step(most);
        let highest = (most / step).ceil().max(1.0) * step;
        let scale = Scale { top: offset + TOP, bottom: offset + HEIGHT - BOTTOM, highest };
        svg.text((24.0, offset + 20.0), "ink", 14, "start", &self.title);
        self.legend(svg, offset + 40.0);
        let right = WIDTH - RIGHT;
        for i in 0..=(highest / step).round() as usize {
            let (value, class) = (i as f64 * step, if i == 0 { "axis" } else { "grid" });
            let y = scale.y(value);
            svg.line(class, (LEFT, y), (right, y));
            svg.text((LEFT - 8.0, y + 4.0), "soft", 11, "end", &number(value, step));
        }
        let middle = (scale.top + scale.bottom) / 2.0;
        let label = escaped(&self.y_label);
        svg.push(format_args!(
            "<text transform=\"translate(20 {middle:.1}) rotate(-90)\" class=\"soft\" font-size=\"12\" \
             text-anchor=\"middle\">{label}</text>"
        ));
        svg.text(((LEFT + right) / 2.0, scale.bottom + 42.0), "soft", 12, "middle", &self.x_label);
        match &self.marks {
            Marks::Lines(series) => lines(svg, &scale, series),
            Marks::Bars { groups, series } => bars(svg, &scale, groups, series),
        }
        if let Some(Reference { label, at }) = &self.reference {
            let y = scale.y(*at);
            svg.line("level", (LEFT, y), (right, y));
            svg.text((right - 4.0, y - 5.0), "soft halo", 11, "end", &format!("{label}, {}", digits(*at)));
        }
    }

    fn legend(&self, svg: &mut Svg, y: f64) {
        let mut x = 24.0;
        for (i, series) in self.series().iter().enumerate() {
            let class = class(i, series);
            match self.marks {
                Marks::Lines(_) => svg.line(&format!("line {class}"), (x, y - 4.0), (x + 22.0, y - 4.0)),
                Marks::Bars { .. } => svg.push(format_args!(
                    "<rect class=\"bar {class}\" x=\"{:.1}\" y=\"{:.1}\" width=\"12\" height=\"12\" rx=\"2\"/>",
                    x + 10.0,
                    y - 10.0
                )),
            }
            svg.text((x + 28.0, y), "ink", 12, "start", &series.label);
            x += 28.0 + LETTER * series.label.chars().count() as f64 + 22.0;
        }
    }
}

fn class(place: usize, series: &Series) -> String {
    if series.is_reference { "cx other".into() } else { format!("c{}", place % COLOURS) }
}

fn lines(svg: &mut Svg, scale: &Scale, series: &[Series]) {
    let mut ticks: Vec<f64> = series.iter().flat_map(|s| &s.points).map(|(x, _)| x.max(1.0)).collect();
    ticks.sort_by(f64::total_cmp);
    ticks.dedup();
    let (Some(first), Some(last)) = (ticks.first().map(|x| x.log2()), ticks.last().map(|x| x.log2())) else { return };
    // Some room at both ends; a single length stands in the middle.
    let (first, last) = (first - 0.3, last + 0.3);
    let x = |value: f64| LEFT + (WIDTH - RIGHT - LEFT) * (value.max(1.0).log2() - first) / (last - first);
    let mut free = 0.0;
    for tick in &ticks {
        let at = x(*tick);
        svg.line("axis", (at, scale.bottom), (at, scale.bottom + 5.0));
        let label = number(*tick, 1.0);
        let half = LETTER * label.len() as f64 / 2.0;
        if at - half >= free {
            svg.text((at, scale.bottom + 20.0), "soft", 11, "middle", &label);
            free = at + half + 4.0;
        }
    }
    for (i, series) in series.iter().enumerate() {
        let class = class(i, series);
        let points: Vec<String> =
            series.points.iter().map(|(at, y)| format!("{:.1},{:.1}", x(*at), scale.y(*y))).collect();
        svg.push(format_args!("<polyline class=\"line {class}\" points=\"{}\"/>", points.join(" ")));
        for (at, y) in &series.points {
            let said = format!("{}, {}: {}", series.label, number(*at, 1.0), digits(*y));
            let radius = if series.is_reference { 2.0 } else { 3.5 };
            svg.push(format_args!(
                "<circle class=\"{class}\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"{radius}\"><title>{}</title></circle>",
                x(*at),
                scale.y(*y),
                escaped(&said)
            ));
        }
    }
}

fn bars(svg: &mut Svg, scale: &Scale, groups: &[String], series: &[Series]) {
    let group = (WIDTH - RIGHT - LEFT) / groups.len().max(1) as f64;
    let bar = (group * 0.7 / series.len().max(1) as f64).min(64.0);
    let all = bar * series.len() as f64;
    for (i, name) in groups.iter().enumerate() {
        let middle = LEFT + group * (i as f64 + 0.5);
        svg.text((middle, scale.bottom + 20.0), "soft", 11, "middle", name);
    }
    for (i, series) in series.iter().enumerate() {
        for (at, y) in &series.points {
            let x = LEFT + group * (at + 0.5) - all / 2.0 + bar * i as f64;
            let (top, value) = (scale.y(*y), digits(*y));
            let class = class(i, series);
            let place = groups.get(*at as usize).map_or("", String::as_str);
            svg.push(format_args!(
                "<rect class=\"bar {class}\" x=\"{:.1}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"{:.1}\" rx=\"2\">\
                 <title>{}</title></rect>",
                x + 2.0,
                bar - 4.0,
                scale.bottom - top,
                escaped(&format!("{}, {place}: {value}", series.label))
            ));
            // Within the bar, where it has the room.
            let (at, class) = if scale.bottom - top > 24.0 { (top + 16.0, "within") } else { (top - 5.0, "ink") };
            svg.text((x + bar / 2.0, at), class, 11, "middle", &value);
        }
    }
}

/// Between the lines of a grid: one, two or five times a power of ten, so that there are at most six.
fn step(most: f64) -> f64 {
    if !(most.is_finite() && most > 0.0) {
        return 1.0;
    }
    let least = most / 6.0;
    let power = 10f64.powf(least.log10().floor());
    [1.0, 2.0, 5.0, 10.0].into_iter().map(|m| m * power).find(|s| *s >= least).unwrap_or(10.0 * power)
}

/// With as many places as differences of `step` need.
fn number(value: f64, step: f64) -> String {
    let places = if step >= 1.0 || step <= 0.0 { 0 } else { (-step.log10()).ceil().clamp(0.0, 3.0) as usize };
    format!("{value:.places$}")
}

/// With three digits, or with all that are whole.
fn digits(value: f64) -> String {
    let places = if value > 0.0 { (2.0 - value.log10().floor()).clamp(0.0, 3.0) as usize } else { 0 };
    format!("{value:.places$}")
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_have_round_numbers() {
        assert_eq!([4800.0, 989.0, 1.0, 0.34, 6.0, 0.0].map(step), [1000.0, 200.0, 0.2, 0.1, 1.0, 1.0]);
        assert_eq!(number(1.0, 0.2), "1.0");
        assert_eq!(number(4800.0, 1000.0), "4800");
        assert_eq!([4001.2, 767.04, 8.081, 1.0, 0.0].map(digits), ["4001", "767", "8.08", "1.00", "0"]);
    }

    #[test]
    fn a_figure_is_well_formed() {
        let series = |label: &str, points: &[(f64, f64)], is_reference| Series {
            label: label.into(),
            points: points.into(),
            is_reference,
        };
        let lines = Panel {
            title: "a < b & \"c\"".into(),
            x_label: "x".into(),
            y_label: "y".into(),
            marks: Marks::Lines(vec![
                series("first", &[(256.0, 100.0), (512.0, 200.0)], false),
                series("copy", &[(256.0, 150.0)], true),
            ]),
            reference: Some(Reference { label: "top".into(), at: 400.0 }),
        };
        let bars = Panel {
            marks: Marks::Bars { groups: vec!["1×2×3".into()], series: vec![series("gemm", &[(0.0, 5.0)], false)] },
            title: "bars".into(),
            x_label: "x".into(),
            y_label: "y".into(),
            reference: None,
        };
        let svg = Figure { title: "t".into(), subtitle: "s".into(), panels: vec![lines, bars] }.to_svg();
        assert!(svg.starts_with("<svg xmlns=") && svg.ends_with("</svg>\n"));
        assert!(svg.contains("a &lt; b &amp; &quot;c&quot;") && svg.contains("prefers-color-scheme:dark"));
        assert_eq!(svg.matches("<polyline").count(), 2);
        assert_eq!(svg.matches("<circle").count(), 3);
        assert_eq!(svg.matches("class=\"bar c0\"").count(), 2, "a bar and its legend");
        for tag in ["text", "circle", "style", "title"] {
            assert_eq!(svg.matches(&format!("<{tag}")).count(), svg.matches(&format!("</{tag}>")).count(), "{tag}");
        }
        assert!(!svg.contains("NaN") && !svg.contains("inf"));
        // Nothing to draw is no reason to divide by it.
        let empty = Panel {
            marks: Marks::Lines(vec![series("none", &[], false)]),
            title: "".into(),
            x_label: "".into(),
            y_label: "".into(),
            reference: None,
        };
        let svg = Figure { title: "".into(), subtitle: "".into(), panels: vec![empty] }.to_svg();
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
    }
}
